//! A process that runs until the test ends it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::wait_for;

/// A running process, which is killed when it is dropped.
pub struct Running(Child);

impl Running {
    /// Starts a process whose output nobody reads.
    pub fn silent(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Starts a process that prints a line when it is ready; returns the line, too.
    pub fn announced(command: &mut Command) -> (Self, String) {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (Self(process), line)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end, and returns its exit code; -1 for a signal.
    pub fn ended(&mut self) -> i32 {
        wait_for("the process to end", || self.0.try_wait().unwrap()).code().unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
