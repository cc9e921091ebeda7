//! The one guard of all ways in: a text that no longer holds does not come back by itself, and whoever says it again is told.

use std::{fs, io, path::Path};

use super::{Caller, ServiceError};
use cerebro_core::domain::{EventKind, Memory, SessionId};
use cerebro_durable as durable;
use cerebro_store::{Saying, Tombstone, Write};
use rand::Rng;

/// Beside the index, the secret by which this home knows texts again that no longer hold.
pub const SECRET_FILE: &str = "tombstone.key";
const SECRET_BYTES: usize = 32;

/// How a text comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// An agent or a person says it in a call of its own. With `revive` also what was corrected.
    Said {
        /// It holds again, whatever was noted of it.
        revive: bool,
    },
    /// An import, an adoption or a hook brings it: nobody decided on this text.
    Brought,
}

impl Door {
    /// Somebody says it, and knows of nothing that stands against it.
    pub const SAID: Self = Self::Said { revive: false };
}

/// Lets a text in, within its transaction, or says what stands against it; `own` is the memory that gets the text,
/// which may return to what it said before. Answers what is noted of it, where that does not stand against it.
///
/// # Errors
/// [`ServiceError::Corrected`] where the text was corrected or superseded and nobody revives it, or where it was
/// deleted and nobody says it.
pub(super) async fn admit(
    write: &mut Write<'_>,
    saying: Saying<'_>,
    own: Option<&Memory>,
    door: Door,
) -> Result<Option<Tombstone>, ServiceError> {
    let stones = write.tombstones(saying, own).await?;
    let foreign = stones.iter().filter(|stone| own.is_none_or(|own| own.id != stone.memory));
    let against = foreign.max_by_key(|stone| (stone.why.is_correction(), stone.at)).cloned();
    let Some(stone) = against else {
        write.lift(&stones);
        return Ok(None);
    };
    let stands = match door {
        Door::Brought => true,
        Door::Said { revive } => stone.why.is_correction() && !revive,
    };
    if stands {
        return Err(ServiceError::Corrected(Box::new(stone)));
    }
    write.lift(&stones);
    Ok(Some(stone))
}

/// Tells the log that a corrected text holds again, because somebody said so.
pub(super) fn tell_revived(write: &mut Write<'_>, caller: &Caller, memory: &Memory, session: &SessionId) {
    tracing::debug!(memory = %memory.id, person = caller.person, "a corrected text was revived");
    write.note_memory(EventKind::MemoryRevived, memory, session);
}

/// The secret of the home with this index; made when there is none.
///
/// # Errors
/// When it can be neither read nor made.
pub(super) fn secret(index_dir: &Path) -> io::Result<Vec<u8>> {
    let file = index_dir.with_file_name(SECRET_FILE);
    match fs::read(&file) {
        Ok(secret) if secret.len() >= SECRET_BYTES => return Ok(secret),
        Ok(_) => tracing::warn!("the secret of tombstones was cut off and is made anew"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let secret: [u8; SECRET_BYTES] = rand::rng().random();
    durable::write(&file, durable::Kind::Own, &secret)?;
    Ok(secret.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_of_a_home_stays_the_same_and_homes_differ() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let index = |home: &tempfile::TempDir| home.path().join("index");
        let first = secret(&index(&one)).unwrap();
        assert_eq!(secret(&index(&one)).unwrap(), first);
        assert_ne!(secret(&index(&other)).unwrap(), first);
        fs::write(one.path().join(SECRET_FILE), b"short").unwrap();
        assert_eq!(secret(&index(&one)).unwrap().len(), SECRET_BYTES);
    }
}
