//! A SurrealDB server in a process of its own: this test binary, started once more.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cerebro_testing::{Account, Client};

use super::{Home, wait_for};

/// The database needs deep stacks.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// The variable that tells a started test binary what to serve: folder and address.
const SERVE: &str = "CEREBRO_TEST_SURREAL";
/// The password of `root`.
pub const PASSWORD: &str = "a-secret";

/// The server, which can be killed and started again on the same data and port.
pub struct Surreal {
    folder: tempfile::TempDir,
    address: SocketAddr,
    process: Option<Child>,
}

impl Surreal {
    /// A server on an empty folder and a free port. Nothing else listens on its address or connects from there, so the port
    /// stays free until the server listens, and while it is killed.
    pub fn start() -> Self {
        let free = TcpListener::bind("127.0.0.3:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let folder = tempfile::Builder::new().prefix("cerebro-it-surreal-").tempdir().unwrap();
        let mut server = Self { folder, address, process: None };
        server.begin();
        server
    }

    /// Starts it, and waits until it listens.
    pub fn begin(&mut self) {
        let what = format!("{} {}", self.folder.path().display(), self.address);
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["remote::a_server_for_the_other_tests", "--exact", "--ignored", "--nocapture"])
            .env(SERVE, what)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(child);
        wait_for("the server to listen", || std::net::TcpStream::connect(self.address).ok());
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// `scheme://address`.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    /// Runs statements as the server's owner.
    pub fn run(&self, text: &str) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client::connect(&self.url("ws")).await.unwrap();
            client.sign_in(Account::Root("root".to_owned(), PASSWORD.to_owned())).await.unwrap();
            client.query(text).await.unwrap();
        });
    }

    /// A home on this server, with more lines of configuration.
    pub fn home(&self, scheme: &str, more: &str) -> Home {
        self.home_as(scheme, PASSWORD, "create = true", more)
    }

    /// A home on this server with a password and more keys of `[remote]`.
    pub fn home_as(&self, scheme: &str, password: &str, keys: &str, more: &str) -> Home {
        let file = self.folder.path().join(format!("password-{password}"));
        write_private(&file, password);
        Home::with_config(&format!(
            "{more}\n[remote]\nurl = \"{}\"\npassword_file = \"{}\"\n{keys}\n",
            self.url(scheme),
            file.display()
        ))
    }
}

impl Drop for Surreal {
    fn drop(&mut self) {
        self.kill();
    }
}

fn write_private(file: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Serves, in a process that was started for it; returns at once in any other.
pub fn serve() {
    let Ok(what) = std::env::var(SERVE) else { return };
    let (folder, address) = what.rsplit_once(' ').unwrap();
    let (folder, address) = (PathBuf::from(folder), address.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()
        .unwrap();
    let served =
        runtime.spawn(async move { cerebro_testing::serve(&folder.join("store"), address, PASSWORD).await });
    runtime.block_on(served).unwrap().unwrap();
}
