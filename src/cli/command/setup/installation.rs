//! How this program was installed, as far as its path tells, and therefore how to upgrade and remove it.

use std::path::Path;

/// What installed the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installation {
    Npm,
    Uv,
    Pipx,
    Pip,
    Debian,
    /// A plain file, from an archive or built from source.
    File,
}

impl Installation {
    /// The way according to the program's path.
    pub fn of(program: &Path) -> Self {
        let has = |name: &str| program.components().any(|part| part.as_os_str() == name);
        if has("node_modules") {
            Self::Npm
        } else if has("uv") {
            Self::Uv
        } else if has("pipx") {
            Self::Pipx
        } else if program.starts_with("/usr/bin") {
            Self::Debian
        } else if program.parent().is_some_and(|bin| bin.with_file_name("pyvenv.cfg").is_file()) {
            Self::Pip
        } else {
            Self::File
        }
    }

    /// The command that takes the program away.
    pub fn removal(self, program: &Path) -> String {
        let begin = match self {
            Self::Npm => "npm uninstall --global",
            Self::Uv => "uv tool uninstall",
            Self::Pipx => "pipx uninstall",
            Self::Pip => "pip uninstall",
            Self::Debian => "sudo apt remove",
            Self::File => return format!("rm {}", program.display()),
        };
        format!("{begin} cerebro-memory")
    }

    /// How to get a newer one.
    pub fn renewal(self) -> &'static str {
        match self {
            Self::Npm => "npm install --global cerebro-memory@latest",
            Self::Uv => "uv tool upgrade cerebro-memory",
            Self::Pipx => "pipx upgrade cerebro-memory",
            Self::Pip => "pip install --upgrade cerebro-memory",
            Self::Debian => "sudo apt install ./cerebro-memory_VERSION.deb, with the newer package",
            Self::File => "put the newer program in place of this one",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_tells_what_installed_the_program() {
        for (path, want) in [
            ("/home/u/.nvm/lib/node_modules/cerebro-memory-linux-x64/bin/cerebro", Installation::Npm),
            ("/home/u/.local/share/uv/tools/cerebro-memory/bin/cerebro", Installation::Uv),
            ("/home/u/.local/share/pipx/venvs/cerebro-memory/bin/cerebro", Installation::Pipx),
            ("/usr/bin/cerebro", Installation::Debian),
            ("/usr/local/bin/cerebro", Installation::File),
            ("/home/u/.cargo/bin/cerebro", Installation::File),
        ] {
            assert_eq!(Installation::of(Path::new(path)), want, "{path}");
        }
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("pyvenv.cfg"), "").unwrap();
        assert_eq!(Installation::of(&temp.path().join("bin/cerebro")), Installation::Pip);
    }
}
