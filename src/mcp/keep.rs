//! What a person asks to keep their memory safe: backups and the doctor's checks.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    reply::{Reply, moment},
    server::Server,
    tools::{Answer, Call},
};
use crate::service::backup::{BackupRequest, Target};

/// Most backups that a rotation may be told to keep.
const KEEP_MAX: usize = 10_000;

/// Makes a backup into the folder `dir`, or the plain script `file`.
pub(super) async fn backup(call: &mut Call) -> Answer {
    let mut path = |name: &'static str| -> Result<Option<PathBuf>, ArgumentError> {
        let Some(given) = call.arguments.text(name)? else { return Ok(None) };
        let path = PathBuf::from(&given);
        // The daemon's working folder is nobody's.
        if path.is_absolute() {
            return Ok(Some(path));
        }
        Err(ArgumentError::new(name, Some(&given), "it is no absolute path"))
    };
    let target = match (path("dir")?, path("file")?) {
        (Some(dir), None) => Target::Folder(dir),
        (None, Some(file)) => Target::Script(file),
        _ => return Err(ArgumentError::new("dir", None, "either `dir` or `file` says where it goes").into()),
    };
    let request = BackupRequest {
        home: call.server.home().root().to_path_buf(),
        target,
        verify: call.arguments.flag(&["verify"])?,
        keep: call.arguments.clamped("keep", 0, 0..=KEEP_MAX)?,
    };
    let made = call.service.back_up(request).await.map_err(crate::service::ServiceError::from)?;
    let rows: u64 = made.rows.values().sum();
    let removed: Vec<Value> = made.removed.iter().map(|path| json!(path.display().to_string())).collect();
    Ok(Reply::saying(format!("{rows} rows are in {}", made.path.display()))
        .fact("file", made.path.display().to_string())
        .fact("at", moment(made.at))
        .fact("rows", json!(made.rows))
        .fact("bytes", made.bytes)
        .fact("verified", made.verified)
        .list("removed", removed))
}

/// How far the backup under way is.
pub(super) fn backup_progress(call: &Call) -> Reply {
    let progress = call.service.backup_progress();
    Reply::saying("progress")
        .fact("rows", progress.map(|(rows, _)| rows))
        .fact("total", progress.map(|(_, total)| total))
}

/// What the daemon's status says of backups: the last one and a failure, since it started.
pub(super) fn backup_facts(server: &Server) -> Option<Value> {
    let outcome = server.opened()?.backup_outcome();
    if outcome.made.is_none() && outcome.failure.is_none() {
        return None;
    }
    Some(json!({
        "made_at": outcome.made.as_ref().map(|(at, _)| moment(*at)),
        "file": outcome.made.as_ref().map(|(_, path)| path.display().to_string()),
        "failed_at": outcome.failure.as_ref().map(|(at, _)| moment(*at)),
        "failure": outcome.failure.as_ref().map(|(_, reason)| reason.clone()),
    }))
}

/// Makes the checks on the store and the index, and mends what can be mended if asked to.
pub(super) async fn examine(call: &mut Call) -> Answer {
    let fix = call.arguments.flag(&["fix"])?;
    let checks = call.service.examine(fix).await;
    let rows: Vec<Value> = checks
        .iter()
        .map(|check| json!({ "check": check.name, "state": check.health.as_str(), "words": check.words }))
        .collect();
    Ok(Reply::saying(format!("{} checks", checks.len()))
        .list("checks", rows)
        .fact("schema_version", call.service.schema_version()))
}
