//! Where each agent keeps the transcripts of its sessions.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::agent_slug;
use cerebro_transcript::{Agent, lineage};

/// The agents whose sessions are read.
const AGENTS: [Agent; 7] = [
    Agent::ClaudeCode,
    Agent::Codex,
    Agent::GeminiCli,
    Agent::OpenCode,
    Agent::Copilot,
    Agent::Cursor,
    Agent::Qwen,
];

/// Every agent whose sessions are read.
pub fn agents() -> impl Iterator<Item = Agent> {
    AGENTS.into_iter()
}

/// The agent of that name.
pub fn agent_named(name: &str) -> Option<Agent> {
    agents().find(|agent| agent_slug(*agent) == name)
}

/// How a folder or file of sessions is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// A file of JSON lines that grows at its end.
    Lines,
    /// The same, compressed: it does not grow.
    Packed,
    /// A file whose records change in place: always read whole.
    Whole,
    /// Plain text of an older version: always read whole.
    Text,
    /// The file of a session whose messages lie in files of their own: always read whole.
    Tree,
    /// A database with many sessions.
    Database,
    /// The prompts that were typed, without what followed.
    Typed,
}

impl Form {
    /// Whether a file holds many sessions, each of which is imported or skipped on its own.
    pub const fn holds_many(self) -> bool {
        matches!(self, Self::Database | Self::Typed)
    }
}

/// A folder or a file of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFolder {
    pub agent: Agent,
    /// Where it is. Nothing outside of it is read.
    pub root: PathBuf,
    /// How deep the files may lie below it; 0 where it is a file itself.
    pub depth: usize,
    /// The agent's own folder, where it keeps a person's memory files.
    pub own: PathBuf,
}

/// The places of all agents. `variable` reads the environment, `home` is the user's folder.
pub fn places(variable: impl Fn(&str) -> Option<OsString>, home: &Path) -> Vec<TranscriptFolder> {
    let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = |name: &str, below: &str| set(name).unwrap_or_else(|| home.join(below));
    let claude = folder("CLAUDE_CONFIG_DIR", ".claude");
    let codex = folder("CODEX_HOME", ".codex");
    let gemini = folder("GEMINI_CLI_HOME", "").join(".gemini");
    let copilot = folder("COPILOT_HOME", ".copilot");
    let cursor = home.join(".cursor");
    let qwen = folder("QWEN_HOME", ".qwen");
    let qwen_sessions = set("QWEN_RUNTIME_DIR").unwrap_or_else(|| qwen.clone());
    let data = folder("XDG_DATA_HOME", ".local/share").join("opencode");
    let config = folder("XDG_CONFIG_HOME", ".config");
    let opencode = config.join("opencode");
    let settings = if cfg!(target_os = "macos") { home.join("Library/Application Support") } else { config };
    let place = |agent, own: &Path, root, depth| TranscriptFolder { agent, root, depth, own: own.to_owned() };
    vec![
        // A sub-agent's file: project/session/subagents/workflows/name/file.
        place(Agent::ClaudeCode, &claude, claude.join("projects"), 6),
        place(Agent::ClaudeCode, &claude, claude.join("history.jsonl"), 0),
        place(Agent::Codex, &codex, codex.join("sessions"), 4),
        place(Agent::Codex, &codex, codex.join("archived_sessions"), 1),
        place(Agent::Codex, &codex, codex.join("history.jsonl"), 0),
        place(Agent::GeminiCli, &gemini, gemini.join("tmp"), 4),
        place(Agent::OpenCode, &opencode, data.join("opencode.db"), 0),
        place(Agent::OpenCode, &opencode, data.join("storage/session"), 2),
        place(Agent::Copilot, &copilot, copilot.join("session-state"), 2),
        place(Agent::Cursor, &cursor, cursor.join("projects"), 5),
        place(Agent::Cursor, &cursor, settings.join("Cursor/User/globalStorage/state.vscdb"), 0),
        place(Agent::Qwen, &qwen, qwen_sessions.join("projects"), 3),
    ]
}

impl TranscriptFolder {
    /// How a file at this place is read; `None` for files that are no sessions.
    pub fn form_of(&self, path: &Path) -> Option<Form> {
        let name = path.file_name()?.to_str()?;
        // Agents write the ends of their files' names in small letters.
        let ends = |end: &str| name.ends_with(end);
        let folder = |wanted: &str| {
            let below = path.strip_prefix(&self.root).unwrap_or(path);
            below.components().any(|part| part.as_os_str() == wanted)
        };
        match self.agent {
            _ if name == "history.jsonl" && self.depth == 0 => Some(Form::Typed),
            Agent::OpenCode | Agent::Cursor if self.depth == 0 => Some(Form::Database),
            Agent::OpenCode => ends(".json").then_some(Form::Tree),
            Agent::Codex if ends(".jsonl.zst") => Some(Form::Packed),
            Agent::GeminiCli => (folder("chats") && (ends(".jsonl") || ends(".json"))).then_some(Form::Whole),
            Agent::Cursor if !folder("agent-transcripts") => None,
            Agent::Cursor if ends(".txt") => Some(Form::Text),
            Agent::Qwen if !folder("chats") => None,
            // Big outputs of tools that were moved out of the transcript.
            Agent::ClaudeCode if folder("tool-results") => None,
            _ => ends(".jsonl").then_some(Form::Lines),
        }
    }

    /// The session's id, if the file's name has it; empty if its records have it.
    pub fn session_of(&self, path: &Path) -> String {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        match self.agent {
            _ if self.depth == 0 => String::new(),
            Agent::Copilot if stem == "events" => {
                let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
                folder.unwrap_or_default().to_owned()
            }
            Agent::Copilot | Agent::Cursor => stem.to_owned(),
            // The lines that a session took over from another one still have that one's id.
            Agent::ClaudeCode if lineage::is_uuid(stem) => stem.to_owned(),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_moves_the_folders() {
        let plain = places(|_| None, Path::new("/u"));
        let root = |places: &[TranscriptFolder], agent| {
            places.iter().find(|place| place.agent == agent).map(|place| place.root.clone()).unwrap()
        };
        assert_eq!(root(&plain, Agent::ClaudeCode), Path::new("/u/.claude/projects"));
        assert_eq!(root(&plain, Agent::OpenCode), Path::new("/u/.local/share/opencode/opencode.db"));
        let own = |agent| &plain.iter().find(|place| place.agent == agent).unwrap().own;
        assert_eq!(own(Agent::OpenCode), Path::new("/u/.config/opencode"));
        assert_eq!(own(Agent::GeminiCli), Path::new("/u/.gemini"));
        for (name, agent, want) in [
            ("CODEX_HOME", Agent::Codex, "/c/sessions"),
            ("COPILOT_HOME", Agent::Copilot, "/c/session-state"),
            ("GEMINI_CLI_HOME", Agent::GeminiCli, "/c/.gemini/tmp"),
            ("QWEN_HOME", Agent::Qwen, "/c/projects"),
            ("QWEN_RUNTIME_DIR", Agent::Qwen, "/c/projects"),
        ] {
            let moved = places(|asked| (asked == name).then(|| "/c".into()), Path::new("/u"));
            assert_eq!(root(&moved, agent), Path::new(want));
        }
        let relative = places(|_| Some("c".into()), Path::new("/u"));
        assert_eq!(relative, plain, "a relative folder is nobody's");
    }

    #[test]
    fn files_that_are_no_sessions_are_distinguished() {
        let all = places(|_| None, Path::new("/u"));
        let form = |path: &str| {
            let place = all.iter().find(|place| Path::new(path).starts_with(&place.root)).unwrap();
            place.form_of(Path::new(path))
        };
        for (path, want) in [
            ("/u/.claude/projects/-w/a.jsonl", Some(Form::Lines)),
            ("/u/.claude/projects/-w/a/subagents/agent-1.jsonl", Some(Form::Lines)),
            ("/u/.claude/projects/-w/a/subagents/agent-1.meta.json", None),
            ("/u/.claude/projects/-w/a/tool-results/x.jsonl", None),
            ("/u/.claude/history.jsonl", Some(Form::Typed)),
            ("/u/.codex/sessions/2026/01/02/rollout-x.jsonl", Some(Form::Lines)),
            ("/u/.codex/sessions/2026/01/02/rollout-x.jsonl.zst", Some(Form::Packed)),
            ("/u/.codex/history.jsonl", Some(Form::Typed)),
            ("/u/.gemini/tmp/h/chats/session-1.json", Some(Form::Whole)),
            ("/u/.gemini/tmp/h/logs.json", None),
            ("/u/.local/share/opencode/opencode.db", Some(Form::Database)),
            ("/u/.local/share/opencode/storage/session/p/ses_1.json", Some(Form::Tree)),
            ("/u/.copilot/session-state/i/events.jsonl", Some(Form::Lines)),
            ("/u/.cursor/projects/p/agent-transcripts/x/y.txt", Some(Form::Text)),
            ("/u/.cursor/projects/p/terminals/1.txt", None),
            ("/u/.qwen/projects/p/chats/i.jsonl", Some(Form::Lines)),
        ] {
            assert_eq!(form(path), want, "{path}");
        }
    }

    #[test]
    fn a_file_of_claude_code_is_named_by_its_session() {
        let all = places(|_| None, Path::new("/u"));
        let id = "019a1f2e-7c1d-4a10-8f00-0123456789ab";
        for (path, want) in [
            (format!("/u/.claude/projects/-w/{id}.jsonl"), id),
            (format!("/u/.claude/projects/-w/{id}/subagents/agent-a1.jsonl"), ""),
            ("/u/.claude/projects/-w/mine.jsonl".to_owned(), ""),
        ] {
            assert_eq!(all[0].session_of(Path::new(&path)), want, "{path}");
        }
    }

    #[test]
    fn names_and_agents_go_both_ways() {
        for agent in agents() {
            assert_eq!(agent_named(agent_slug(agent)), Some(agent));
        }
        assert_eq!(agent_named("nobody"), None);
    }
}
