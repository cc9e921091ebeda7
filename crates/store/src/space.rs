//! Refuses writes while the disk still has enough room for the engine to stay healthy.
//!
//! On a full disk, RocksDB blocks writers until there is room again, however long that takes. So a write is refused
//! a little earlier, at once and with a clear error.

use std::path::Path;

use cerebro_engine::EngineError;

/// Room that is kept free for what the engine and the index still have to write of acknowledged data.
const RESERVE_BYTES: u64 = 32 << 20;

/// Checks that the disk under `dir` has room for one more write.
///
/// # Errors
/// [`EngineError::DiskFull`]. A file system that does not report its free space passes.
pub(super) fn check(dir: &Path) -> Result<(), EngineError> {
    match rustix::fs::statvfs(dir) {
        Ok(disk) => enough(disk.f_bavail.saturating_mul(disk.f_frsize), dir),
        Err(error) => {
            tracing::debug!(%error, "the free space is not known");
            Ok(())
        }
    }
}

fn enough(free: u64, dir: &Path) -> Result<(), EngineError> {
    if free >= RESERVE_BYTES {
        return Ok(());
    }
    let (free, reserve) = (free >> 20, RESERVE_BYTES >> 20);
    Err(EngineError::DiskFull(format!(
        "{} has {free} MiB left, and {reserve} MiB must stay free",
        dir.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_stop_at_the_reserve() {
        let dir = Path::new("/data");
        assert!(enough(RESERVE_BYTES, dir).is_ok());
        assert!(enough(u64::MAX, dir).is_ok());
        let refused = enough(RESERVE_BYTES - 1, dir).unwrap_err().to_string();
        assert!(refused.contains("/data has 31 MiB left"), "{refused}");
    }
}
