//! The folder of a session of Cursor's CLI: its transcripts do not have it, and the name of their own folder is ambiguous.
//!
//! `~/.cursor/projects/home-me-my-app/…` may be `/home/me/my-app` or `/home/me/my/app`. The files that the session's tools
//! touched decide; else the folders on disk, if just one fits.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Intake, take::Pass, walk::Found};
use crate::looks;
use cerebro_transcript::{
    Agent, Batch, Exchange,
    turn::{Action, Call},
};

/// Most entries of folders that are read for one name.
const ENTRIES_MAX: usize = 20_000;
/// How long that may take: the disk may not answer.
const LOOK_MAX: Duration = Duration::from_millis(500);

impl Intake {
    /// Adds the folder to a session of Cursor's CLI, if it can be found.
    pub(super) async fn place_in_folder(&self, found: &Found, batch: &mut Batch, pass: &mut Pass) {
        if found.agent != Agent::Cursor || batch.session.cwd.is_some() {
            return;
        }
        let Some(name) = name_of(&found.path) else { return };
        let folder = match touched(&name, &batch.exchanges) {
            Some(folder) => Some(folder),
            None => match pass.slugs.get(&name) {
                Some(folder) => folder.clone(),
                None => {
                    let wanted = name.clone();
                    let looked = looks::within(Path::new("/"), LOOK_MAX, move || on_disk(&wanted));
                    let folder = looked.await.flatten();
                    pass.slugs.insert(name, folder.clone());
                    folder
                }
            },
        };
        for exchange in &mut batch.exchanges {
            exchange.cwd.clone_from(&folder);
        }
        batch.session.cwd = folder;
    }
}

/// The name of the folder below `projects`, in the form that names are compared in.
fn name_of(path: &Path) -> Option<String> {
    let transcripts = path.ancestors().find(|folder| folder.ends_with("agent-transcripts"))?;
    let name = transcripts.parent()?.file_name()?.to_str()?;
    Some(plain(name)).filter(|name| !name.is_empty())
}

/// A path as Cursor names folders after it: letters and digits stay, all else is a hyphen.
pub(super) fn plain(path: &str) -> String {
    let words = path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The folder of that name above something that a tool touched.
fn touched(name: &str, exchanges: &[Exchange]) -> Option<String> {
    let calls = exchanges.iter().flat_map(Exchange::calls);
    let mut paths = calls.flat_map(paths).filter(|path| path.starts_with('/'));
    paths.find_map(|path| {
        let mut above = Path::new(path).ancestors().filter_map(Path::to_str);
        above.find(|folder| plain(folder) == name).map(str::to_owned)
    })
}

fn paths(call: &Call) -> Vec<&str> {
    match &call.action {
        Action::Edit { paths, .. } | Action::Read { paths } => paths.iter().map(String::as_str).collect(),
        Action::Search { path, .. } => vec![path],
        _ => Vec::new(),
    }
}

/// The only folder on disk with that name; `None` if there are several. Blocks.
fn on_disk(name: &str) -> Option<String> {
    let mut found: Option<PathBuf> = None;
    let mut left = vec![(PathBuf::from("/"), name.to_owned())];
    let mut looked = 0;
    while let Some((folder, rest)) = left.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > ENTRIES_MAX {
                return None;
            }
            let below = entry.file_name().to_str().map(plain).filter(|below| !below.is_empty());
            let Some(after) = below.as_deref().and_then(|below| rest.strip_prefix(below)) else { continue };
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if let Some(after) = after.strip_prefix('-') {
                left.push((entry.path(), after.to_owned()));
            } else if after.is_empty() && found.replace(entry.path()).is_some() {
                return None;
            }
        }
    }
    found?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_transcript::turn::Turn;

    #[test]
    fn the_folder_is_found_by_what_was_touched_or_by_what_is_there() {
        let path = "/u/.cursor/projects/home-me-my-app/agent-transcripts/x/y.jsonl";
        let name = name_of(Path::new(path)).unwrap();
        assert_eq!(name, "home-me-my-app");
        assert_eq!(name_of(Path::new("/u/.cursor/projects/x/y.jsonl")), None);
        let read = Call {
            action: Action::Read { paths: vec!["src/a.rs".into(), "/home/me/my.app/src/a.rs".into()] },
            ..Call::default()
        };
        let exchange = Exchange { turns: vec![Turn::Call(read)], ..Exchange::default() };
        assert_eq!(touched(&name, &[exchange]).as_deref(), Some("/home/me/my.app"));

        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let app = root.join("my_app");
        fs::create_dir_all(&app).unwrap();
        assert_eq!(on_disk(&plain(app.to_str().unwrap())).as_deref(), app.to_str());
        fs::create_dir_all(root.join("my/app")).unwrap();
        assert_eq!(on_disk(&plain(app.to_str().unwrap())), None, "either may be meant");
    }
}
