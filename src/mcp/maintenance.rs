//! A person's operations for maintenance and transfer: backups, the doctor's checks, notes.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::context::Context;
use super::prelude::*;
use crate::answer::{
    Outcome, backup as backups,
    graph::{Edge, Page},
    memories::{Known, Noted},
    upkeep,
};
use cerebro_core::domain::MemoryId;
use cerebro_service::{
    NoteRequest,
    backup::{BackupRequest, Target},
    doctor::Check,
};
use cerebro_store::StoredRelation;

/// Highest number of backups that a rotation can keep.
const KEEP_MAX: usize = 10_000;

/// Most ids in one question.
const IDS_MAX: usize = 500;

/// Rewrites the database's files without deleted and replaced data.
pub(super) async fn compact(call: &mut Call) -> AnswerTo<of::Compact> {
    call.service.compact().await?;
    Ok(Outcome { outcome: "compacted".into() })
}

/// Makes a backup into the folder `dir`, or the plain script `file`.
pub(super) async fn backup(call: &mut Call) -> AnswerTo<of::Backup> {
    let mut path = |name: &'static str| -> Result<Option<PathBuf>, ArgumentError> {
        let Some(given) = call.arguments.text(name)? else { return Ok(None) };
        let path = PathBuf::from(&given);
        // A relative path would refer to the daemon's working folder.
        if path.is_absolute() {
            return Ok(Some(path));
        }
        Err(ArgumentError::new(name, Some(&given), "it is not an absolute path"))
    };
    let target = match (path("dir")?, path("file")?) {
        (Some(dir), None) => Target::Folder(dir),
        (None, Some(file)) => Target::Script(file),
        _ => return Err(ArgumentError::new("dir", None, "give either `dir` or `file`").into()),
    };
    let request = BackupRequest {
        home: call.context.home().root().to_path_buf(),
        target,
        verify: call.arguments.flag(&["verify"])?,
        keep: NonZeroUsize::new(call.arguments.clamped("keep", 0, 0..=KEEP_MAX)?),
    };
    let made = call.service.backups.back_up(request).await.map_err(cerebro_service::ServiceError::from)?;
    Ok(backups::Made {
        file: Text::of(made.path.display()),
        at: moment(made.at).into(),
        rows: made.rows,
        bytes: made.bytes,
        verified: made.verified,
        removed: made.removed.iter().map(|path| Text::of(path.display())).collect(),
    })
}

/// The progress of the running backup.
pub(super) async fn backup_progress(call: &mut Call) -> AnswerTo<of::BackupProgress> {
    let (rows, total) = call.service.backups.progress().unzip();
    Ok(backups::Progress { rows, total })
}

/// The part of the daemon's status about backups: the last one and a failure, since it started.
pub(super) fn last_backup(context: &Context) -> Option<backups::Last> {
    let outcome = context.opened()?.backups.outcome();
    if outcome.made.is_none() && outcome.failure.is_none() {
        return None;
    }
    let (made_at, file) =
        outcome.made.map(|(at, path)| (moment(at).into(), Text::of(path.display()))).unzip();
    let (failed_at, failure) = outcome.failure.map(|(at, reason)| (moment(at).into(), reason.into())).unzip();
    Some(backups::Last { made_at, file, failed_at, failure })
}

/// Checks the store and the index. With `fix`, repairs what can be repaired.
pub(super) async fn examine(call: &mut Call) -> AnswerTo<of::Examine> {
    let fix = call.arguments.flag(&["fix"])?;
    let checks = call.service.examine(fix).await;
    let row = |check: Check| upkeep::Check {
        check: check.name.into(),
        state: check.health.as_str().into(),
        words: check.words.into(),
        repairable: check.is_repairable,
    };
    Ok(upkeep::Examined {
        checks: checks.into_iter().map(row).collect(),
        schema_version: call.service.schema_version(),
    })
}

/// Which of these memories exist.
pub(super) async fn known(call: &mut Call) -> AnswerTo<of::Known> {
    let given = call.arguments.texts("ids")?.unwrap_or_default();
    let ids: Vec<MemoryId> = given.iter().take(IDS_MAX).filter_map(|id| MemoryId::parse(id).ok()).collect();
    let known = call.service.memories.known(&ids).await?;
    Ok(Known { ids: known.iter().map(Text::of).collect() })
}

/// Imports a note that was written or changed by hand.
pub(super) async fn note(call: &mut Call) -> AnswerTo<of::Note> {
    let arguments = &mut call.arguments;
    // The use case redacts the texts of a note; its names are parsed here.
    for name in ["project", "type"] {
        arguments.redact_name(name);
    }
    let run = arguments.run()?;
    let id = match arguments.text("id")? {
        Some(id) => Some(MemoryId::parse(&id).map_err(ArgumentError::unread("id", &id))?),
        None => None,
    };
    let scope = arguments.scope()?;
    // A note of a memory keeps the project that the memory has.
    let project = if id.is_some() { arguments.project()? } else { arguments.project_in(scope)? };
    let note = NoteRequest {
        id,
        revision: arguments.count("revision")?.and_then(|number| u32::try_from(number).ok()),
        title: arguments.needed("title")?,
        content: arguments.needed("content")?,
        kind: arguments.kind()?,
        project,
        scope,
        topic_key: arguments.change("topic_key")?,
        tags: arguments.texts("tags")?,
    };
    let noted = call.service.memories.take_note(&call.caller, note, run).await?;
    let (id, revision) = noted.memory.unzip();
    Ok(Noted { outcome: noted.outcome.as_str().into(), id: id.map(Text::of), revision })
}

/// A page of the relations between memories.
pub(super) async fn relations(call: &mut Call) -> AnswerTo<of::Relations> {
    let after = call.arguments.text("after")?;
    let page = call.service.memories.relations(after.as_deref()).await?;
    let edge = |(_, one): &(String, StoredRelation)| Edge {
        from: Text::of(one.from),
        to: Text::of(one.to),
        kind: Text::from(&one.kind),
    };
    Ok(Page { relations: page.iter().map(edge).collect(), next: page.last().map(|(key, _)| Text::from(key)) })
}
