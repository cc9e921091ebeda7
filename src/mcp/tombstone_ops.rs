//! The operations on tombstones: listing and forgetting them.

use super::prelude::*;
use crate::answer::tombstones;
use cerebro_service::{ListedTombstone, TOMBSTONES_LISTED_MAX};

/// How many are listed by default.
const LISTED: usize = 50;

/// The tombstones, the latest first.
pub(super) async fn list(call: &mut Call) -> AnswerTo<of::Tombstones> {
    let limit = call.arguments.clamped("limit", LISTED, 1..=TOMBSTONES_LISTED_MAX)?;
    let (texts, notes) = call.service.memories.tombstones(limit).await?;
    let row = |text: ListedTombstone| tombstones::Tombstone {
        id: Text::of(text.memory),
        title: text.title.map(Text::from),
        why: text.why.as_str().into(),
        at: moment(text.at).into(),
        replaced_by: text.replaced_by.map(Text::of),
    };
    Ok(tombstones::Listed { tombstones: texts.into_iter().map(row).collect(), notes: notes as u64 })
}

/// Forgets the tombstones of a memory's texts.
pub(super) async fn forget(call: &mut Call) -> AnswerTo<of::ForgetTombstones> {
    let id = call.arguments.memory_id()?;
    let forgotten = call.service.memories.forget_tombstones(&id).await?;
    Ok(tombstones::Forgotten { id: Text::of(id), forgotten: forgotten as u64 })
}
