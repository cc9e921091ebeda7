//! The operations on tombstones: listing and forgetting them.

use serde_json::json;

use super::{
    call::{Answer, Call},
    reply::{Reply, moment},
};
use cerebro_core::text;
use cerebro_service::{ListedTombstone, TOMBSTONES_LISTED_MAX};

/// How many are listed by default.
const LISTED: usize = 50;

/// The tombstones, the latest first.
pub(super) async fn list(call: &mut Call) -> Answer {
    let limit = call.arguments.clamped("limit", LISTED, 1..=TOMBSTONES_LISTED_MAX)?;
    let (texts, notes) = call.service.memories.tombstones(limit).await?;
    let row = |text: &ListedTombstone| {
        json!({
            "id": text.memory.as_str(), "title": text.title, "why": text.why.as_str(), "at": moment(text.at),
            "replaced_by": text.replaced_by.map(|id| id.as_str().to_owned()),
        })
    };
    let rows = texts.iter().map(row).collect();
    Ok(Reply::saying(text::counted(texts.len(), "text")).list("tombstones", rows).fact("notes", notes))
}

/// Forgets the tombstones of a memory's texts.
pub(super) async fn forget(call: &mut Call) -> Answer {
    let id = call.arguments.memory_id()?;
    let forgotten = call.service.memories.forget_tombstones(&id).await?;
    Ok(Reply::saying("forgotten").fact("id", id.as_str()).fact("forgotten", forgotten))
}
