//! A disk that hangs or fails on demand, and counts its syncs: the daemon runs with another `fdatasync`.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{Home, skip, wait_for};

/// A library between the daemon and the disk: while the file `hang` exists, syncs block; while the file `fail` exists,
/// every sync fails. Each sync adds a byte to the file `syncs`.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <limits.h>
#include <stdio.h>
static const char *at(char *path, const char *name) {
    snprintf(path, PATH_MAX, "%s/%s", getenv("CEREBRO_IT_DISK"), name);
    return path;
}
static int there(const char *name) {
    char path[PATH_MAX];
    return access(at(path, name), F_OK) == 0;
}
static void count(void) {
    char path[PATH_MAX];
    int file = open(at(path, "syncs"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return;
    ssize_t written = write(file, ".", 1);
    (void) written;
    close(file);
}
static int synced(const char *name, int fd) {
    count();
    while (there("hang")) usleep(10000);
    if (there("fail")) { errno = EIO; return -1; }
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
    return real(fd);
}
int fdatasync(int fd) { return synced("fdatasync", fd); }
int fsync(int fd) { return synced("fsync", fd); }
"#;

/// A home whose daemon has such a disk.
pub struct FaultyDisk<'a> {
    home: &'a Home,
    folder: PathBuf,
    daemon: Child,
}

impl<'a> FaultyDisk<'a> {
    /// Starts the daemon of a home that has none; skips the test where there is no C compiler.
    pub fn start(home: &'a Home) -> Option<Self> {
        let folder = home.folder("faulty");
        fs::write(folder.join("shim.c"), SHIM).unwrap();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o", "shim.so", "shim.c", "-ldl"])
            .current_dir(&folder)
            .output();
        if !compiled.as_ref().is_ok_and(|output| output.status.success()) {
            skip(&format!("there is no C compiler: {compiled:?}"));
            return None;
        }
        let mut command = home.command();
        command.args(["daemon", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("LD_PRELOAD", folder.join("shim.so")).env("CEREBRO_IT_DISK", &folder);
        let disk = Self { home, daemon: command.spawn().unwrap(), folder };
        wait_for("the daemon to answer", || (home.run(&["daemon", "status"]).code() == 0).then_some(()));
        home.json(&["projects"]);
        Some(disk)
    }

    /// How many syncs there were.
    pub fn syncs(&self) -> u64 {
        fs::metadata(self.folder.join("syncs")).unwrap().len()
    }

    /// Makes every sync from now on `hang` or `fail`.
    pub fn begin(&self, what: &str) {
        fs::write(self.folder.join(what), "").unwrap();
    }

    /// Makes syncs succeed again.
    pub fn heal(&self) {
        for what in ["hang", "fail"] {
            let _ = fs::remove_file(self.folder.join(what));
        }
    }
}

impl Drop for FaultyDisk<'_> {
    fn drop(&mut self) {
        self.heal();
        self.home.end();
        let _ = self.daemon.wait();
    }
}
