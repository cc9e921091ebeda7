//! The guard: a text that no longer holds does not come back by itself, and a caller that saves it again gets a notice.

use std::{collections::BTreeSet, fs, io, path::Path};

use super::supersede;
use crate::{Caller, ServiceError};
use cerebro_core::domain::{Memory, MemoryId, Origin, Scope, SessionId, Timestamp};
use cerebro_core::hygiene::summary_title;
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_core::sameness::{self, Part};
use cerebro_durable as durable;
use cerebro_store::{SaidText, Store, Supersession, TextTombstones, Tombstone, Why, Write};
use rand::Rng;

/// The file beside the index with the secret by which this home recognises texts that no longer hold.
pub const SECRET_FILE: &str = "tombstone.key";
const SECRET_BYTES: usize = 32;

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
    /// The notice for the caller that saves the text.
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
/// [`ServiceError::Corrected`] if the text was corrected or superseded and nobody revives it; or, if nobody decided on it
/// now, if the text or a part of it does not hold for any reason.
pub(crate) async fn admit(
    write: &mut Write<'_>,
    saying: SaidText<'_>,
    own: Option<&Memory>,
    door: Door,
) -> Result<Admitted, ServiceError> {
    // An archived memory does not say its text now. The update that takes it out of the archive says it again.
    let saying_now = own.filter(|own| !own.is_archived());
    let found = in_force(write, saying, saying_now).await?;
    if door.is_automatic() {
        let mut against = found.against_unasked().max_by_key(|tombstone| most_telling(tombstone)).cloned();
        if against.is_none() {
            against = outdated_within(write, saying, saying_now).await?;
        }
        return match against {
            Some(tombstone) => Err(ServiceError::Corrected(Box::new(tombstone))),
            None => Ok(Admitted { lifted: found.into_lifted(), noted: None }),
        };
    }
    match noted(&found, own) {
        Some(tombstone) if tombstone.why.is_correction() && door == Door::EXPLICIT => {
            Err(ServiceError::Corrected(Box::new(tombstone)))
        }
        noted => Ok(Admitted { lifted: found.into_lifted(), noted }),
    }
}

/// The notice for the person or agent that unarchives or restores a memory: another memory had the same text and no longer
/// says it.
pub(crate) async fn notice(write: &Write<'_>, memory: &Memory) -> Result<Option<Tombstone>, ServiceError> {
    let found = in_force(write, SaidText::from(memory), None).await?;
    Ok(noted(&found, Some(memory)))
}

/// The tombstones of a text, without those of memories that are back in their place.
async fn in_force(
    write: &Write<'_>,
    saying: SaidText<'_>,
    own: Option<&Memory>,
) -> Result<TextTombstones, ServiceError> {
    let found = write.tombstones(saying, own).await?;
    let back = back_after(write, found.all().collect()).await?;
    Ok(found.without(|tombstone| tombstone.why == Why::Superseded && back.contains(&tombstone.memory)))
}

/// As [`back_in_place`], after this write: what it supersedes itself is not back.
async fn back_after(
    write: &Write<'_>,
    tombstones: Vec<&Tombstone>,
) -> Result<BTreeSet<MemoryId>, ServiceError> {
    let mut back = back_in_place(write.store(), tombstones).await?;
    for edge in write.supersessions(&back.iter().copied().collect::<Vec<_>>()).await? {
        let newer = write.memory(&edge.newer).await?;
        if edge.by != Supersession::CYCLE && newer.is_some_and(|newer| newer.is_live()) {
            back.remove(&edge.older);
        }
    }
    Ok(back)
}

/// Of the memories that were superseded when these tombstones were made, those that no other one supersedes now, because it was
/// deleted. What they say holds again until it is restored, so their tombstones stay.
async fn back_in_place(
    store: &Store,
    tombstones: Vec<&Tombstone>,
) -> Result<BTreeSet<MemoryId>, ServiceError> {
    let superseded = tombstones.into_iter().filter(|tombstone| tombstone.why == Why::Superseded);
    let ids: BTreeSet<MemoryId> = superseded.map(|tombstone| tombstone.memory).collect();
    if ids.is_empty() {
        return Ok(ids);
    }
    let ids = Vec::from_iter(ids);
    let present = store.memories().by_ids(&ids).await?;
    let replaced = supersede::superseded(store, ids).await?;
    let is_back =
        |memory: &Memory| memory.is_live() && !memory.is_archived() && !replaced.contains(&memory.id);
    Ok(present.into_iter().filter(is_back).map(|memory| memory.id).collect())
}

/// Of a text's tombstones, the most telling one that does not belong to the memory that gets the text.
fn noted(found: &TextTombstones, own: Option<&Memory>) -> Option<Tombstone> {
    let is_own = |tombstone: &&Tombstone| own.is_some_and(|own| own.id == tombstone.memory);
    found
        .here
        .iter()
        .filter(|tombstone| !is_own(tombstone))
        .max_by_key(|tombstone| most_telling(tombstone))
        .cloned()
}

/// A correction tells more than a deletion, and the latest most.
fn most_telling(tombstone: &Tombstone) -> (bool, Timestamp) {
    (tombstone.why.is_correction(), tombstone.at)
}

/// Whether a text that nobody decided on is let in.
pub(crate) async fn admits(
    write: &mut Write<'_>,
    saying: SaidText<'_>,
    origin: Origin,
) -> Result<bool, ServiceError> {
    match admit(write, saying, None, Door::Brought(origin)).await {
        Ok(_) => Ok(true),
        Err(ServiceError::Corrected(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What of a session's summary still holds, if nobody decided on it now: the summary without the parts that do not hold.
/// `None` if nothing is left.
pub(crate) async fn still_held(
    write: &mut Write<'_>,
    scope: &Scope,
    summary: &RedactedText,
    origin: Origin,
) -> Result<Option<RedactedText>, ServiceError> {
    let outdated = outdated(write, scope, || sameness::parts(summary)).await?;
    let mut current = summary.clone();
    if !outdated.is_empty() {
        let parts: Vec<Part> = outdated.into_iter().map(|(part, _)| part).collect();
        current = redact_text(without(summary, &parts).trim()).value;
    }
    let title = summary_title(&current);
    let saying = SaidText { scope, title: &title, content: &current };
    let is_held = !sameness::says_nothing(&current) && admits(write, saying, origin).await?;
    Ok(is_held.then_some(current))
}

/// A text without some of its parts. What is not written as it is read, because something wraps or encodes it, is cut out of its
/// line or paragraph, or goes with that.
fn without(text: &str, parts: &[Part]) -> String {
    let (mut text, mut others, mut forms) = (text.to_owned(), Vec::new(), Vec::new());
    for part in parts {
        if text.contains(&part.raw) {
            text = text.replace(&part.raw, "");
        } else {
            // A longer part that was cut may have contained it.
            others.push(&part.raw);
            forms.extend_from_slice(&part.forms);
        }
    }
    if others.is_empty() {
        return text;
    }
    let cut = |piece: &str| {
        if !sameness::says(piece, &forms) {
            return piece.to_owned();
        }
        let apart =
            others.iter().fold(sameness::set_apart(piece).into_owned(), |apart, raw| apart.replace(*raw, ""));
        if sameness::says(&apart, &forms) { String::new() } else { apart }
    };
    for end in ["\n", "\n\n"] {
        text = text.split(end).map(cut).collect::<Vec<_>>().join(end);
    }
    text
}

/// The tombstone of a part of a text, or of its title, that does not hold and that `own` does not say already.
async fn outdated_within(
    write: &Write<'_>,
    saying: SaidText<'_>,
    own: Option<&Memory>,
) -> Result<Option<Tombstone>, ServiceError> {
    let read = || {
        let mut parts = sameness::parts(saying.title);
        parts.extend(sameness::parts(saying.content));
        parts
    };
    let outdated = outdated(write, saying.scope, read).await?;
    let says_already = |part: &Part| {
        own.is_some_and(|own| [&own.title, &own.content].iter().any(|text| sameness::says(text, &part.forms)))
    };
    Ok(outdated.into_iter().find(|(part, _)| !says_already(part)).map(|(_, tombstone)| tombstone))
}

/// Of the parts that `read` returns, those that were the whole content of a memory, while neither that memory nor the one that
/// took its place says them now: a correction may only have added to a text. Each with its tombstone.
async fn outdated(
    write: &Write<'_>,
    scope: &Scope,
    read: impl FnOnce() -> Vec<Part>,
) -> Result<Vec<(Part, Tombstone)>, ServiceError> {
    // Reading the parts of a text takes long, and the writer waits.
    if !write.has_tombstones().await? {
        return Ok(Vec::new());
    }
    let parts = read();
    let found = write.tombstones_of_parts(scope, &parts).await?;
    let back = back_after(write, found.iter().flatten().collect()).await?;
    still_outdated(write.store(), parts, found, &back).await
}

/// The memories that say what holds now where some text repeats what no longer holds: corrected memories, and memories that
/// took the place of others. Nothing is written.
pub(crate) async fn corrected_in(
    store: &Store,
    scope: &Scope,
    parts: Vec<Part>,
) -> Result<Vec<MemoryId>, ServiceError> {
    let found = store.tombstones().of_parts(scope, &parts).await?;
    let back = back_in_place(store, found.iter().flatten().collect()).await?;
    let outdated = still_outdated(store, parts, found, &back).await?;
    let corrected = outdated.iter().filter(|(_, tombstone)| tombstone.why.is_correction());
    let ids: Vec<MemoryId> = corrected
        .filter_map(|(_, tombstone)| match tombstone.why {
            Why::Superseded => tombstone.replaced_by,
            _ => Some(tombstone.memory),
        })
        .collect();
    if ids.is_empty() {
        return Ok(ids);
    }
    let present = store.memories().by_ids(&ids).await?;
    let is_live = |id: &MemoryId| present.iter().any(|memory| memory.id == *id && memory.is_live());
    Ok(ids.into_iter().filter(is_live).collect())
}

/// The parts that no source of their tombstones says now, each with one of its tombstones. `back` are the superseded memories
/// that are back in their place.
async fn still_outdated(
    store: &Store,
    parts: Vec<Part>,
    found: Vec<Vec<Tombstone>>,
    back: &BTreeSet<MemoryId>,
) -> Result<Vec<(Part, Tombstone)>, ServiceError> {
    // A superseded memory stays as it is and says its text, so only what took its place counts.
    let sources = |tombstone: &Tombstone| {
        let counts = tombstone.why != Why::Superseded || back.contains(&tombstone.memory);
        let own = counts.then_some(tombstone.memory);
        own.into_iter().chain(tombstone.replaced_by)
    };
    let ids: BTreeSet<MemoryId> = found.iter().flatten().flat_map(sources).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let present = store.memories().by_ids(&Vec::from_iter(ids)).await?;
    let holds = |part: &Part, tombstones: &[Tombstone]| {
        let is_source = |memory: &&Memory| tombstones.iter().flat_map(sources).any(|id| id == memory.id);
        let mut live = present.iter().filter(is_source).filter(|memory| memory.is_live());
        live.any(|memory| sameness::says(&memory.content, &part.forms))
    };
    let outdated = parts.into_iter().zip(found).filter(|(part, tombstones)| !holds(part, tombstones));
    Ok(outdated.filter_map(|(part, tombstones)| Some((part, tombstones.into_iter().next()?))).collect())
}

/// The secret of the home with this index. It is made if there is none.
pub(crate) fn secret(index_dir: &Path) -> io::Result<Vec<u8>> {
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
        let again = secret(&index(&one)).unwrap();
        assert_eq!(again.len(), SECRET_BYTES);
        assert_ne!(again, first);
    }

    #[test]
    fn a_part_is_cut_however_it_is_written_and_the_rest_stays() {
        let old =
            "The deploy job retries uploads 17 times because the storage answers \"slow down\" under load";
        let good = "We fed the \"heron\", and a, b and c.";
        let encoded = old.replace(' ', "%20");
        let form = sameness::noted(old);
        for said in [
            format!("{old}."),
            format!("- {old}"),
            format!("See {encoded} for it."),
            format!("x,\"{}\",y", old.replace('"', "\"\"")),
        ] {
            let text = format!("{good}\n{said}\n{good}");
            let parts: Vec<Part> =
                sameness::parts(&text).into_iter().filter(|part| part.forms.contains(&form)).collect();
            assert!(!parts.is_empty(), "{said}");
            let cut = without(&text, &parts);
            assert!(!sameness::says(&cut, std::slice::from_ref(&form)), "{cut}");
            let lines: Vec<&str> = cut.lines().collect();
            assert_eq!((lines[0], lines[lines.len() - 1]), (good, good), "{cut}");
        }
    }
}
