//! Direct access to the store, to break what the program never would.

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
        runtime.block_on(cerebro_testing::alter(&dir, &script)).unwrap();
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}
