//! Changes of a memory with one click, by the same operations as the commands.

use super::pairs;
use super::prelude::*;
use cerebro_core::operation::Operation;

pub(in crate::web) async fn change(
    State(shared): State<Shared>,
    Path((id, change)): Path<(String, String)>,
    form: Posted,
) -> Page {
    let (operation, done) = match change.as_str() {
        "pin" => (Operation::Pin, "pinned"),
        "unpin" => (Operation::Unpin, "unpinned"),
        "archive" => (Operation::Archive, "archived"),
        "unarchive" => (Operation::Unarchive, "unarchived"),
        "delete" => (Operation::Delete, "deleted"),
        "restore" => (Operation::Restore, "restored"),
        _ => return Err(Failure::nothing()),
    };
    shared.backend.change(operation, json!({ "id": id })).await?;
    // Returns to the list of pairs, if the form is in that list.
    let place = pairs::back(&form).unwrap_or_else(|| link::memory(&id));
    Ok(returned(&place, done))
}
