//! A temporary home, and the program that was built with the examples.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A home of its own; its daemon stops when it is dropped.
pub struct Home {
    pub program: PathBuf,
    folder: tempfile::TempDir,
}

impl Home {
    /// An empty one, for the program beside the examples or the one that CEREBRO_BIN names.
    pub fn new() -> Result<Self> {
        // target/release/examples/demo is one folder below the program.
        let here = std::env::current_exe()?;
        let beside = here.ancestors().nth(2).context("this program lies in no folder")?.join("cerebro");
        let program = std::env::var_os("CEREBRO_BIN").map_or(beside, PathBuf::from);
        ensure!(program.is_file(), "{} is missing: run `make build`", program.display());
        let folder = tempfile::Builder::new().prefix("cerebro-example-").tempdir()?;
        Ok(Self { program: program.canonicalize()?, folder })
    }

    /// The folder of its data.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join(".cerebro")
    }

    /// The program on this home.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("HOME", self.folder.path()).arg("--home").arg(self.data());
        command
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The rest is removed with its folder.
        let _ = self.command().args(["daemon", "stop"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
