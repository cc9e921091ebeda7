//! The folder of a session, for agents whose transcripts do not have it.
//!
//! Of Cursor's CLI, `~/.cursor/projects/home-me-my-app/…` may be `/home/me/my-app` or `/home/me/my/app`. The files that the
//! session's tools touched decide; else the folders on disk, if just one fits.
//!
//! Gemini CLI notes the folder beside the chats, and in a list of all projects. Older versions only name their own folder by the
//! folder's hash. Then these are compared with the hash: the folders above the touched files, those that the user trusts, and
//! those in which another agent had a session. The directories of a transcript do not say it: its user added them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest, Sha256};

use super::{Intake, reading::small, take::Pass, walk::Found};
use crate::looks;
use cerebro_core::text::hex;
use cerebro_transcript::{
    Agent, Batch, Exchange,
    turn::{Action, Call},
};

/// The length of a hash that Gemini CLI names a folder by.
const HASH_CHARS: usize = 64;
/// Most entries of folders that are read for one name.
const ENTRIES_MAX: usize = 20_000;
/// How long that may take: the disk may not answer.
const LOOK_MAX: Duration = Duration::from_millis(500);

impl Intake {
    /// Adds the folder to a session, if its agent does not record it and it can be found.
    pub(super) async fn place_in_folder(&self, found: &Found, batch: &mut Batch, pass: &mut Pass) {
        let folder = match found.agent {
            Agent::Cursor if batch.session.cwd.is_none() => of_cursor(found, batch, pass).await,
            Agent::GeminiCli => self.of_gemini(found, batch, pass).await,
            _ => return,
        };
        let Some(folder) = folder else { return };
        for exchange in &mut batch.exchanges {
            exchange.cwd = Some(folder.clone());
        }
        batch.session.cwd = Some(folder);
    }

    async fn of_gemini(&self, found: &Found, batch: &Batch, pass: &mut Pass) -> Option<String> {
        let notes = found.path.ancestors().find(|folder| folder.ends_with("chats"))?.parent()?.to_path_buf();
        let key = notes.to_str()?.to_owned();
        let noted = match pass.slugs.get(&key) {
            Some(folder) => folder.clone(),
            None => {
                let (place, wanted) = (notes.clone(), notes.clone());
                let folder = looks::within(&place, LOOK_MAX, move || project_root(&wanted)).await.flatten();
                pass.slugs.insert(key.clone(), folder.clone());
                folder
            }
        };
        let hash = notes.file_name()?.to_str()?.to_owned();
        if let Some(folder) = noted.or_else(|| touched(&batch.exchanges, |folder| hashed(folder) == hash)) {
            return Some(folder);
        }
        if hash.len() != HASH_CHARS || pass.folders_known {
            return None;
        }
        // Once in a pass: the folders of all sessions, by the names that Gemini CLI gave them.
        pass.folders_known = true;
        let folders = self.folders_of_sessions().await.inspect_err(|error| {
            tracing::warn!(%error, "the folders of past sessions cannot be read");
        });
        for folder in folders.unwrap_or_default() {
            let Some(folder) = folder.to_str() else { continue };
            if let Some(notes) = notes.with_file_name(hashed(folder)).to_str() {
                pass.slugs.entry(notes.to_owned()).or_default().get_or_insert_with(|| folder.to_owned());
            }
        }
        pass.slugs.get(&key).cloned().flatten()
    }
}

async fn of_cursor(found: &Found, batch: &Batch, pass: &mut Pass) -> Option<String> {
    let name = name_of(&found.path)?;
    let is_named = |folder: &str| plain(folder) == name;
    if let Some(folder) = touched(&batch.exchanges, is_named) {
        return Some(folder);
    }
    if let Some(folder) = pass.slugs.get(&name) {
        return folder.clone();
    }
    let wanted = name.clone();
    let looked = looks::within(Path::new("/"), LOOK_MAX, move || on_disk(&wanted));
    let folder = looked.await.flatten();
    pass.slugs.insert(name, folder.clone());
    folder
}

/// The name that older versions of Gemini CLI give to the notes on a project.
pub(super) fn hashed(folder: &str) -> String {
    hex(&Sha256::digest(folder))
}

/// The folder of a project that Gemini CLI keeps notes on in a folder of its own. Blocks.
pub(super) fn project_root(notes: &Path) -> Option<String> {
    let text = |path: PathBuf| String::from_utf8(small(&path).ok()?).ok();
    let is_folder = |path: &String| Path::new(path).is_absolute();
    let beside = text(notes.join(".project_root")).map(|path| path.trim().to_owned()).filter(is_folder);
    if beside.is_some() {
        return beside;
    }
    let name = notes.file_name()?.to_str()?;
    let own = notes.parent()?.parent()?;
    let json = |file: &str| serde_json::from_str::<serde_json::Value>(&text(own.join(file))?).ok();
    let listed = json("projects.json").and_then(|list| {
        let mut projects = list["projects"].as_object()?.iter();
        projects.find(|(_, id)| id.as_str() == Some(name)).map(|(path, _)| path.clone())
    });
    let trusted =
        || json("trustedFolders.json")?.as_object()?.keys().find(|path| hashed(path) == name).cloned();
    listed.filter(is_folder).or_else(trusted).filter(is_folder)
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

/// The first folder above something that a tool touched for which `is_it` holds.
fn touched(exchanges: &[Exchange], is_it: impl Fn(&str) -> bool) -> Option<String> {
    let calls = exchanges.iter().flat_map(Exchange::calls);
    let mut paths = calls.flat_map(paths).filter(|path| path.starts_with('/'));
    paths.find_map(|path| {
        let mut above = Path::new(path).ancestors().filter_map(Path::to_str);
        above.find(|folder| is_it(folder)).map(str::to_owned)
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
pub(super) fn on_disk(name: &str) -> Option<String> {
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
        let named = touched(&[exchange], |folder| plain(folder) == name);
        assert_eq!(named.as_deref(), Some("/home/me/my.app"));

        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let app = root.join("my_app");
        fs::create_dir_all(&app).unwrap();
        assert_eq!(on_disk(&plain(app.to_str().unwrap())).as_deref(), app.to_str());
        fs::create_dir_all(root.join("my/app")).unwrap();
        assert_eq!(on_disk(&plain(app.to_str().unwrap())), None, "either may be meant");
    }

    #[test]
    fn gemini_notes_the_folder_beside_the_chats_or_in_its_list() {
        let temp = tempfile::tempdir().unwrap();
        let notes = temp.path().join("tmp/app");
        fs::create_dir_all(&notes).unwrap();
        assert_eq!(project_root(&notes), None);
        fs::write(temp.path().join("projects.json"), r#"{"projects":{"/w/app":"app","/w/b":"b"}}"#).unwrap();
        assert_eq!(project_root(&notes).as_deref(), Some("/w/app"));
        fs::write(notes.join(".project_root"), "/w/moved\n").unwrap();
        assert_eq!(project_root(&notes).as_deref(), Some("/w/moved"));
        fs::write(notes.join(".project_root"), "relative").unwrap();
        assert_eq!(project_root(&notes).as_deref(), Some("/w/app"));
        let older = temp.path().join("tmp").join(hashed("/w/c"));
        fs::create_dir_all(&older).unwrap();
        assert_eq!(project_root(&older), None);
        fs::write(
            temp.path().join("trustedFolders.json"),
            r#"{"/w/b":"TRUST_FOLDER","/w/c":"TRUST_FOLDER"}"#,
        )
        .unwrap();
        assert_eq!(project_root(&older).as_deref(), Some("/w/c"));
    }
}
