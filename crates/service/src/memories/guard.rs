//! The guard: a text that no longer holds does not come back by itself, and whoever saves it again gets a notice.

use std::{fs, io, path::Path};

use crate::{Caller, ServiceError};
use cerebro_core::domain::{Memory, Origin, Scope, SessionId};
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_core::sameness;
use cerebro_durable as durable;
use cerebro_store::{SaidText, Tombstone, Write};
use rand::Rng;

/// The file beside the index with the secret by which this home recognises texts that no longer hold.
pub const SECRET_FILE: &str = "tombstone.key";
const SECRET_BYTES: usize = 32;
/// Most statements of one text that are looked up; a compaction's summary has some dozens.
const STATEMENTS_MAX: usize = 200;

/// The door: how a text comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// An agent or a person saves it in a call of its own. With `revive`, a corrected text is accepted too.
    Explicit {
        /// Whether the text holds again, whatever tombstones there are.
        revive: bool,
    },
    /// An import, an adoption, a hook or a piece of work brings it: nobody decided on this text now.
    Brought(Origin),
}

impl Default for Door {
    fn default() -> Self {
        Self::EXPLICIT
    }
}

impl Door {
    /// Somebody saves it and does not ask to revive it.
    pub const EXPLICIT: Self = Self::Explicit { revive: false };

    /// Whether nobody decided on the text.
    pub(crate) fn is_automatic(self) -> bool {
        matches!(self, Self::Brought(_))
    }

    /// The origin of a text that comes in by this door.
    pub(crate) fn origin(self, caller: &Caller) -> Origin {
        match self {
            Self::Explicit { .. } => caller.origin(),
            Self::Brought(origin) => origin,
        }
    }
}

/// The tombstones of a text that is let in.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    /// The tombstones that [`Self::settle`] removes.
    lifted: Vec<Tombstone>,
    /// The notice for whoever saves the text.
    pub noted: Option<Tombstone>,
}

impl Admitted {
    /// Removes the tombstones of the text, since it holds again, in the same transaction.
    pub(crate) fn settle(self, write: &mut Write<'_>, memory: &Memory, session: &SessionId) {
        if !self.lifted.is_empty() {
            write.revive_memory(memory, &self.lifted, session);
        }
    }
}

/// Lets a text in, within its transaction, or returns an error that says why not. `own` is the memory that gets the text:
/// a memory may return to what it said before.
///
/// # Errors
/// [`ServiceError::Corrected`] if the text was corrected or superseded and nobody revives it; or if the text does not hold
/// for any reason and nobody decided on it now.
pub(crate) async fn admit(
    write: &mut Write<'_>,
    saying: SaidText<'_>,
    own: Option<&Memory>,
    door: Door,
) -> Result<Admitted, ServiceError> {
    let lifted = write.tombstones(saying, own).await?;
    let is_own =
        |tombstone: &&Tombstone| !door.is_automatic() && own.is_some_and(|own| own.id == tombstone.memory);
    let against = lifted.iter().filter(|tombstone| !is_own(tombstone));
    let noted = against.max_by_key(|tombstone| (tombstone.why.is_correction(), tombstone.at)).cloned();
    match (noted, door) {
        (Some(tombstone), Door::Brought(_)) => Err(ServiceError::Corrected(Box::new(tombstone))),
        (Some(tombstone), Door::Explicit { revive: false }) if tombstone.why.is_correction() => {
            Err(ServiceError::Corrected(Box::new(tombstone)))
        }
        (noted, _) => Ok(Admitted { lifted, noted }),
    }
}

/// A text that a hook brings, without the statements that a correction made outdated: inside a longer text, they would
/// pass the guard. `None` if nothing is left.
///
/// # Errors
/// A failing store.
pub(crate) async fn without_outdated(
    write: &Write<'_>,
    scope: &Scope,
    text: &RedactedText,
) -> Result<Option<RedactedText>, ServiceError> {
    let mut current = text.to_string();
    for statement in sameness::statements(text).take(STATEMENTS_MAX) {
        if is_outdated(write, scope, statement).await? {
            current = current.replace(statement, "");
        }
    }
    if current == text.as_str() {
        return Ok(Some(text.clone()));
    }
    let is_empty = sameness::normal(&current).is_empty();
    Ok((!is_empty).then(|| redact_text(current.trim()).value))
}

/// Whether a statement was the whole content of a memory, and neither that memory nor the one that took its place says it
/// now. A correction may only have added to it.
async fn is_outdated(write: &Write<'_>, scope: &Scope, statement: &str) -> Result<bool, ServiceError> {
    let said = SaidText { scope, title: "", content: statement };
    let tombstones = write.tombstones(said, None).await?;
    if tombstones.is_empty() {
        return Ok(false);
    }
    let present: Vec<_> = tombstones
        .iter()
        .flat_map(|tombstone| [Some(tombstone.memory), tombstone.replaced_by])
        .flatten()
        .collect();
    let present = write.store().memories().by_ids(&present).await?;
    Ok(!present.iter().any(|memory| memory.is_live() && sameness::says(&memory.content, statement)))
}

/// The secret of the home with this index, and whether it was made just now because there was none.
///
/// # Errors
/// When it can be neither read nor created.
pub(crate) fn secret(index_dir: &Path) -> io::Result<(Vec<u8>, bool)> {
    let file = index_dir.with_file_name(SECRET_FILE);
    match fs::read(&file) {
        Ok(secret) if secret.len() >= SECRET_BYTES => return Ok((secret, false)),
        Ok(_) => tracing::warn!("the secret of tombstones was cut off and is made anew"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let secret: [u8; SECRET_BYTES] = rand::rng().random();
    durable::write(&file, durable::Kind::Own, &secret)?;
    Ok((secret.to_vec(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_of_a_home_stays_the_same_and_homes_differ() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let index = |home: &tempfile::TempDir| home.path().join("index");
        let (first, is_new) = secret(&index(&one)).unwrap();
        assert!(is_new);
        assert_eq!(secret(&index(&one)).unwrap(), (first.clone(), false));
        assert_ne!(secret(&index(&other)).unwrap().0, first);
        fs::write(one.path().join(SECRET_FILE), b"short").unwrap();
        let (again, is_new) = secret(&index(&one)).unwrap();
        assert_eq!((again.len(), is_new), (SECRET_BYTES, true));
    }
}
