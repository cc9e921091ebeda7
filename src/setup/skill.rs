//! Installs skills for a person. Each is a file in the folder from which an agent loads its user's skills.

use std::path::{Path, PathBuf};

use super::block::WRITTEN_BY;
use super::piece::{PieceError, Target};
use super::record::{Record, digest};
use super::{Change, SetupError, UserFolders, apply_setup, apply_unsetup, file, plan_setup, plan_unsetup};
use crate::hook::Agent as HookAgent;
use cerebro_core::domain::Run;

/// The name of the record of installed skills.
pub const SKILLS_RECORD: &str = "skills";
/// The agents that have a folder for skills.
pub const AGENTS: [&str; 4] = [
    HookAgent::ClaudeCode.as_str(),
    HookAgent::Codex.as_str(),
    HookAgent::GeminiCli.as_str(),
    HookAgent::OpenCode.as_str(),
];

/// The file of a skill for an agent's user; `None` if the agent has no folder for skills, or the name is not valid
/// for a folder.
pub fn path(agent: &str, name: &str, folders: &UserFolders) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return None;
    }
    let folder = match AGENTS.iter().position(|known| *known == agent)? {
        0 => folders.named("CLAUDE_CONFIG_DIR", ".claude").join("skills"),
        1 => folders.home(".agents/skills"),
        2 => folders.gemini().join("skills"),
        _ => folders.config().join("opencode/skills"),
    };
    Some(folder.join(name).join("SKILL.md"))
}

/// The text of a skill, with Cerebro's mark as a comment after its first line.
pub fn marked(text: &str) -> String {
    let mark =
        format!("# {WRITTEN_BY}distil skills --install`; `cerebro distil skills --remove` removes it\n");
    match text.split_once('\n') {
        Some((first, rest)) => format!("{first}\n{mark}{rest}"),
        None => format!("{text}\n{mark}"),
    }
}

/// Whether somebody changed the file after Cerebro wrote it.
fn is_edited(record: &Record, path: &Path) -> Result<bool, SetupError> {
    let text = file::read(path)?;
    Ok(record.file(path).zip(text).is_some_and(|(recorded, text)| recorded.digest != digest(&text)))
}

/// Writes a skill and records it in the home; a dry run only returns what would change. Fails if somebody else wrote
/// the file of that name, or changed it.
pub fn install(folder: &Path, path: &Path, text: &str, run: Run) -> Result<Vec<Change>, SetupError> {
    let record = Record::read(folder, SKILLS_RECORD)?.unwrap_or_default();
    if is_edited(&record, path)? {
        return Err(SetupError::piece(path, PieceError::Edited));
    }
    let changes = plan_setup(&[Target::whole(path, marked(text))], |_| true, Some(&record))?;
    if run == Run::Real {
        apply_setup(&changes, record, folder, SKILLS_RECORD)?;
    }
    Ok(changes)
}

/// Removes installed skills, all or the one with this file. Returns the changes, and the files that stay because
/// somebody changed them.
pub fn remove(
    folder: &Path,
    only: Option<&Path>,
    run: Run,
) -> Result<(Vec<Change>, Vec<PathBuf>), SetupError> {
    let Some(mut record) = Record::read(folder, SKILLS_RECORD)? else { return Ok((Vec::new(), Vec::new())) };
    let mut targets = Vec::new();
    let mut edited = Vec::new();
    for recorded in record.files.iter().filter(|recorded| only.is_none_or(|only| recorded.path == only)) {
        if is_edited(&record, &recorded.path)? {
            edited.push(recorded.path.clone());
        } else {
            targets.push(Target::whole(&recorded.path, String::new()));
        }
    }
    let changes = plan_unsetup(&targets, Some(&record))?;
    if run == Run::Real {
        // A file that a person changed belongs to that person.
        record.files.retain(|recorded| !edited.contains(&recorded.path));
        apply_unsetup(&changes, record, folder, SKILLS_RECORD)?;
    }
    Ok((changes.into_iter().filter(Change::is_any).collect(), edited))
}

/// The installed skills whose text names one of these memories.
pub fn naming(folder: &Path, memories: &[&str]) -> Result<Vec<PathBuf>, SetupError> {
    let record = Record::read(folder, SKILLS_RECORD)?.unwrap_or_default();
    let mut naming = Vec::new();
    for recorded in record.files {
        let text = file::read(&recorded.path)?.unwrap_or_default();
        if memories.iter().any(|id| text.contains(&format!("`{id}`"))) {
            naming.push(recorded.path);
        }
    }
    Ok(naming)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\nname: x\ndescription: \"d\"\n---\n\n# X\n";

    #[test]
    fn a_skill_is_put_once_and_taken_out_to_the_byte() {
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = home.path().join(".claude/skills/x/SKILL.md");
        let changes = install(folder.path(), &file, TEXT, Run::Real).unwrap();
        assert!(changes.iter().any(Change::is_any));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("---\n# written by `cerebro ") && text.ends_with("# X\n"), "{text}");
        assert!(
            !install(folder.path(), &file, TEXT, Run::Real).unwrap().iter().any(Change::is_any),
            "twice is once"
        );
        let (changes, edited) = remove(folder.path(), None, Run::Real).unwrap();
        assert_eq!((changes.len(), edited.len()), (1, 0));
        assert!(!home.path().join(".claude").exists(), "the folders that were made for it go, too");
    }

    #[test]
    fn an_installed_skill_is_known_by_the_memories_that_it_names() {
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert_eq!(naming(folder.path(), &["m1"]).unwrap(), Vec::<PathBuf>::new());
        let file = home.path().join("skills/x/SKILL.md");
        install(folder.path(), &file, &format!("{TEXT}Memory `m1`; exchanges `x1`.\n"), Run::Real).unwrap();
        assert_eq!(naming(folder.path(), &["m0", "m1"]).unwrap(), std::slice::from_ref(&file));
        assert_eq!(naming(folder.path(), &["m"]).unwrap(), Vec::<PathBuf>::new());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(naming(folder.path(), &["m1"]).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_a_person_wrote_or_changed_stays() {
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = home.path().join("own/SKILL.md");
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(&own, "mine").unwrap();
        let refused = install(folder.path(), &own, TEXT, Run::Real);
        assert!(matches!(refused, Err(SetupError::Piece { error: PieceError::Foreign, .. })), "{refused:?}");
        let ours = home.path().join("ours/SKILL.md");
        install(folder.path(), &ours, TEXT, Run::Real).unwrap();
        let changed = std::fs::read_to_string(&ours).unwrap() + "and mine\n";
        std::fs::write(&ours, &changed).unwrap();
        let refused = install(folder.path(), &ours, TEXT, Run::Real);
        assert!(matches!(refused, Err(SetupError::Piece { error: PieceError::Edited, .. })), "{refused:?}");
        let (changes, edited) = remove(folder.path(), None, Run::Real).unwrap();
        assert_eq!((changes.len(), edited), (0, vec![ours.clone()]));
        assert_eq!(std::fs::read_to_string(&ours).unwrap(), changed);
        assert_eq!(std::fs::read_to_string(&own).unwrap(), "mine");
    }

    #[test]
    fn only_a_plain_name_is_a_folder() {
        let folders = UserFolders::of("/u".into());
        for name in ["", "..", "a/b", "A", "a b", ".x"] {
            assert_eq!(path("gemini-cli", name, &folders), None, "{name}");
        }
        let expected = PathBuf::from("/u/.gemini/skills/run-tests/SKILL.md");
        assert_eq!(path("gemini-cli", "run-tests", &folders), Some(expected));
        assert_eq!(path("zed", "run-tests", &folders), None);
    }
}
