//! The store from beneath: a way to break what the program never would.

use surrealdb_core::dbs::Session;
use surrealdb_core::kvs::Datastore;

use super::Home;

/// The database needs deep stacks.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Runs a script on the store of a home, made if it is missing; its daemon is stopped first.
///
/// # Panics
/// When any statement of it fails.
pub fn alter(home: &Home, script: &str) {
    home.run(&["daemon", "stop"]).success();
    let (dir, script) = (home.data().join("store"), script.to_owned());
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(&dir, &script));
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}

async fn run(dir: &std::path::Path, script: &str) {
    std::fs::create_dir_all(dir).unwrap();
    let path = format!("rocksdb://{}?sync=every", dir.display());
    let store = Datastore::builder()
        .without_maintenance_tasks()
        .build_with_path(&path)
        .await
        .expect("the store opens");
    store.check_version().await.expect("a known version");
    store.bootstrap().await.expect("it starts");
    let session = Session::owner().with_ns("cerebro").with_db("main");
    for result in store.execute(script, &session, None).await.expect("the script is understood") {
        if let Err(error) = result.result {
            panic!("{error} in: {script}");
        }
    }
    store.shutdown().await.expect("it closes");
}
