//! Writes a memory to a file for the person's editor, and reads it back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::state::Draft;
use crate::edits;

/// The line between the facts and the text.
const RULE: &str = "---";

/// The unsaved text of an earlier edit of a memory, if there is one: the revision from which the edit started, and the
/// file.
pub fn unsaved(folder: &Path, memory: &str) -> Option<(u64, String)> {
    let found = edits::unsaved(folder, memory);
    let edit = found.inspect_err(|error| tracing::warn!(%error, "cannot look for unsaved edits")).ok()??;
    // A file without a revision counts as based on the first one, so that the person is asked before later ones are
    // overwritten.
    Some((edit.revision.unwrap_or(1), edit.path.to_string_lossy().into_owned()))
}

/// Lets the person edit a draft. Returns the draft and its file, which stays until the text is stored; `None` if there
/// is nothing to save. The error names the file if that contains the person's text.
pub fn edit(folder: &Path, draft: Draft) -> Result<Option<(Draft, String)>, String> {
    let stored = to_file(&draft);
    let path = match &draft.file {
        Some(file) => PathBuf::from(file),
        None => edits::create(folder, &draft.id, draft.revision, &stored)
            .map_err(|error| format!("cannot create a file for the edit in {}: {error}", folder.display()))?,
    };
    let ran = run(&path);
    let shown = path.to_string_lossy().into_owned();
    let after = fs::read_to_string(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    if after == stored {
        remove(&shown);
        return ran.map(|()| None).map_err(|why| format!("nothing was changed: {why}"));
    }
    let edited = ran.and_then(|()| from_file(&after, draft));
    let edited = edited.map_err(|why| format!("your text is in {shown}, not saved: {why}"))?;
    Ok(Some((edited, shown)))
}

/// Removes the file of an edit whose text is stored.
pub fn remove(file: &str) {
    if let Err(error) = fs::remove_file(file) {
        tracing::debug!(%error, "cannot remove the file of an edit");
    }
}

/// Runs `$VISUAL`, otherwise `$EDITOR`, otherwise `vi`. The variable may contain arguments.
fn run(path: &Path) -> Result<(), String> {
    let named = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    // As Git does it: the shell splits the variable, and the file is one argument whatever its name is.
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$@\"")).arg(&editor).arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the editor `{editor}` ended with {status}")),
        Err(error) => Err(format!("cannot run the editor `{editor}`: {error}")),
    }
}

fn to_file(draft: &Draft) -> String {
    let Draft { title, kind, tags, content, .. } = draft;
    format!("title: {title}\ntype: {kind}\ntags: {}\n{RULE}\n{content}\n", tags.join(", "))
}

/// Reads the editor's result: known facts up to the rule, then the text.
fn from_file(text: &str, before: Draft) -> Result<Draft, String> {
    let (head, content) = text
        .split_once(&format!("\n{RULE}\n"))
        .ok_or_else(|| format!("the line `{RULE}` between title and text is missing"))?;
    let mut draft = Draft { content: content.trim_end().to_owned(), file: None, ..before };
    for line in head.lines().filter(|line| !line.trim().is_empty()) {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| format!("`{line}` is not a `title:`, `type:` or `tags:` line"))?;
        let value = value.trim().to_owned();
        match name.trim() {
            "title" => draft.title = value,
            "type" => draft.kind = value,
            "tags" => {
                draft.tags =
                    value.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
            }
            other => return Err(format!("`{other}` is neither title, type nor tags")),
        }
    }
    if draft.title.is_empty() || draft.content.is_empty() {
        return Err("a memory needs a title and a text".to_owned());
    }
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Draft {
        Draft {
            id: "abcdefghij27".to_owned(),
            revision: 2,
            title: "A: title".to_owned(),
            kind: "decision".to_owned(),
            tags: vec!["a".to_owned(), "b".to_owned()],
            content: "Text.\n---\nMore.".to_owned(),
            file: None,
        }
    }

    #[test]
    fn a_memory_goes_into_a_file_and_comes_back() {
        assert_eq!(from_file(&to_file(&draft()), draft()), Ok(draft()));
        let text = to_file(&draft()).replace("A: title", "New").replace("a, b", "");
        let edited = from_file(&text, draft()).unwrap();
        assert_eq!((edited.title.as_str(), edited.tags.len()), ("New", 0));
    }

    #[test]
    fn a_file_that_cannot_be_meant_is_refused_with_words() {
        for (text, want) in [
            ("no rule", "`---`"),
            ("title: x\nother: y\n---\nz\n", "other"),
            ("title: x\n---\n\n", "needs a title"),
        ] {
            assert!(from_file(text, draft()).unwrap_err().contains(want), "{text}");
        }
    }
}
