//! The agents: the files of each, and what goes into them.
//!
//! Cerebro edits all files itself. The agents' own command lines have no dry run, cannot undo an edit exactly, write
//! other files too, and do not support hooks and instructions. Their output was the model for these entries, and
//! `make agents` tests the entries with the agents.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::block::WRITTEN_BY;
use super::piece::{Content, Format, Mark, Part, Piece, Target};
use super::user_folders::{Invocation, UserFolders, is_on_path};
use crate::hook::{self, Agent as HookAgent};
use cerebro_core::operation::{Effect, Operation};

/// The tools that may run without confirmation: all except those that remove something.
fn allowed() -> impl Iterator<Item = &'static str> {
    Operation::tools().filter(|tool| tool.effect() != Effect::Destroys).map(Operation::name)
}

/// The text for an agent's instructions. It has ten lines, because an agent reads them in every session.
pub const INSTRUCTIONS: &str = include_str!("instructions.md");
/// The long text, for people who want to give their agents more detail.
pub const GUIDE: &str = include_str!("../../prompt_template.md");
/// The plugin through which OpenCode runs hooks; `COMMAND` is replaced by program and arguments.
const OPENCODE_PLUGIN: &str = include_str!("opencode.ts");
/// The plugin that reports to the journal, with the same placeholder.
const OPENCODE_JOURNAL: &str = include_str!("opencode_journal.ts");
/// The name of the server in every configuration.
const NAME: &str = "cerebro";
/// The timeout of a hook in the agent's configuration, in seconds. A hook ends earlier by itself. Codex allows no
/// more at the end of a session, and would print a warning each time.
const HOOK_SECONDS: u64 = 3;

#[derive(Debug)]
pub struct Agent {
    /// The name on the command line.
    pub name: &'static str,
    /// The product's name.
    pub title: &'static str,
    /// Its program, if it has one.
    program: Option<&'static str>,
    /// The folder whose existence shows that it is installed.
    folder: fn(&UserFolders) -> PathBuf,
    targets: fn(&UserFolders, &Invocation) -> Vec<Target>,
    /// What the user must know or do after one of its parts is set up.
    pub notes: &'static [(Part, &'static str)],
}

/// All agents, in the order in which they are listed.
pub static AGENTS: [Agent; 8] = [
    Agent {
        name: HookAgent::ClaudeCode.as_str(),
        title: "Claude Code",
        program: Some("claude"),
        folder: |folders| folders.named("CLAUDE_CONFIG_DIR", ".claude"),
        targets: claude_code,
        notes: &[],
    },
    Agent {
        name: HookAgent::Codex.as_str(),
        title: "Codex",
        program: Some("codex"),
        folder: |folders| folders.named("CODEX_HOME", ".codex"),
        targets: codex,
        notes: &[(
            Part::Hooks,
            "Codex runs new hooks only after you trust them: start `codex` and open `/hooks`",
        )],
    },
    Agent {
        name: HookAgent::GeminiCli.as_str(),
        title: "Gemini CLI",
        program: Some("gemini"),
        folder: UserFolders::gemini,
        targets: gemini_cli,
        notes: &[(Part::Server, "Gemini CLI starts MCP servers only in folders that you trust")],
    },
    Agent {
        name: HookAgent::OpenCode.as_str(),
        title: "OpenCode",
        program: Some("opencode"),
        folder: |folders| folders.config().join("opencode"),
        targets: opencode,
        notes: &[(
            Part::Hooks,
            "with a plugin, such as Cerebro's hooks, OpenCode downloads its plugin package from npm when it starts; \
             without a network it waits for that, and --no-hooks avoids it",
        )],
    },
    Agent {
        name: HookAgent::Cursor.as_str(),
        title: "Cursor",
        program: Some("cursor"),
        folder: |folders| folders.home(".cursor"),
        targets: cursor,
        notes: &[(
            Part::Instructions,
            "Cursor does not store its user rules in files: paste what `cerebro prompt` prints into Settings, Rules",
        )],
    },
    Agent {
        name: "vscode",
        title: "VS Code",
        program: Some("code"),
        folder: |folders| folders.application().join("Code"),
        targets: vscode,
        notes: &[(Part::Server, "VS Code asks once whether you trust the server")],
    },
    Agent {
        name: "windsurf",
        title: "Windsurf",
        program: Some("windsurf"),
        folder: |folders| folders.home(".codeium/windsurf"),
        targets: windsurf,
        notes: &[(Part::Instructions, "Windsurf reads at most 6,000 characters of its global rules")],
    },
    Agent {
        name: "zed",
        title: "Zed",
        program: Some("zed"),
        folder: |folders| folders.config().join("zed"),
        targets: zed,
        notes: &[(
            Part::Instructions,
            "Zed does not store its rules in files: paste what `cerebro prompt` prints into its Rules Library",
        )],
    },
];

impl Agent {
    /// The agent with that name or that program.
    pub fn named(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.name == name || agent.alias() == Some(name))
    }

    /// The name of its program, if it differs from the agent's name. People may type either.
    pub fn alias(&self) -> Option<&'static str> {
        self.program.filter(|program| *program != self.name)
    }

    /// Whether it seems to be installed.
    pub fn is_installed(&self, folders: &UserFolders) -> bool {
        self.program.is_some_and(is_on_path) || (self.folder)(folders).is_dir()
    }

    /// The files that setup can edit; the one with the server's entry comes first.
    pub fn targets(&self, folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
        let mut targets = (self.targets)(folders, invocation);
        // Two homes may set up one agent: each restores what it found.
        for target in &mut targets {
            target.backup.as_mut_os_string().push(invocation.home_suffix());
        }
        targets
    }
}

fn claude_code(folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
    let folder = folders.named("CLAUDE_CONFIG_DIR", ".claude");
    // If the variable names a folder, the file is in it; otherwise it is next to the default folder.
    let is_named = folder != folders.home(".claude");
    let servers = if is_named { folder.join(".claude.json") } else { folders.home(".claude.json") };
    let entry = json!({
        "type": "stdio", "command": invocation.program(), "args": invocation.arguments(&["mcp"]), "env": {},
    });
    let rules = allowed().map(|tool| rule(&["permissions", "allow"], format!("mcp__{NAME}__{tool}")));
    // One line without `args`: a version that does not know `args` would run the bare program.
    let hooks = hooks(
        HookAgent::ClaudeCode,
        invocation,
        |_, line| json!({ "hooks": [{ "type": "command", "command": line, "timeout": HOOK_SECONDS }] }),
    );
    // Claude Code does not wait for these.
    let journal = journal(
        HookAgent::ClaudeCode,
        invocation,
        |line| json!({ "type": "command", "command": line, "async": true, "timeout": HOOK_SECONDS }),
    );
    vec![
        Target::new(servers, Format::Json, [server(&["mcpServers"], entry)]),
        Target::new(folder.join("settings.json"), Format::Json, rules.chain(hooks).chain(journal)),
        Target::new(folder.join("CLAUDE.md"), Format::Block, [instructions(INSTRUCTIONS)]),
    ]
}

fn codex(folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
    let folder = folders.named("CODEX_HOME", ".codex");
    let entry = json!({ "command": invocation.program(), "args": invocation.arguments(&["mcp"]) });
    let rules = allowed().map(|tool| Piece {
        part: Part::Permissions,
        content: Content::Entry {
            path: path(&["mcp_servers", NAME, "tools", tool]),
            value: json!({ "approval_mode": "approve" }),
        },
    });
    let hooks = hooks(
        HookAgent::Codex,
        invocation,
        |_, line| json!({ "hooks": [{ "type": "command", "command": line, "timeout": HOOK_SECONDS }] }),
    );
    let journal = journal(
        HookAgent::Codex,
        invocation,
        |line| json!({ "type": "command", "command": line, "timeout": HOOK_SECONDS }),
    );
    let config = [server(&["mcp_servers"], entry)].into_iter().chain(rules);
    vec![
        Target::new(folder.join("config.toml"), Format::Toml, config),
        Target::new(folder.join("hooks.json"), Format::Json, hooks.chain(journal)),
        Target::new(folder.join("AGENTS.md"), Format::Block, [instructions(INSTRUCTIONS)]),
    ]
}

fn gemini_cli(folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
    let folder = folders.gemini();
    let entry = json!({ "command": invocation.program(), "args": invocation.arguments(&["mcp"]) });
    let rules = allowed().map(|tool| rule(&["tools", "allowed"], format!("mcp_{NAME}_{tool}")));
    // Trusting the server would allow all of its tools, deletions included.
    let trust = Piece {
        part: Part::Former,
        content: Content::Entry { path: path(&["mcpServers", NAME, "trust"]), value: json!(true) },
    };
    let hooks = hooks(HookAgent::GeminiCli, invocation, |event, line| {
        let command = json!({
            "type": "command", "name": NAME, "command": line, "timeout": HOOK_SECONDS * 1_000,
        });
        let mut group = json!({ "hooks": [command] });
        if event == hook::BEFORE_TOOL {
            group["matcher"] = json!(format!("mcp_+{NAME}_+mem_.*"));
        }
        group
    });
    let journal = journal(
        HookAgent::GeminiCli,
        invocation,
        |line| json!({ "type": "command", "name": NAME, "command": line, "timeout": HOOK_SECONDS * 1_000 }),
    );
    let own = [server(&["mcpServers"], entry), trust].into_iter();
    let settings = own.chain(rules).chain(hooks).chain(journal);
    vec![
        Target::new(folder.join("settings.json"), Format::Json, settings),
        Target::new(folder.join("GEMINI.md"), Format::Block, [instructions(INSTRUCTIONS)]),
    ]
}

fn opencode(folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
    let folder = folders.config().join("opencode");
    let entry = json!({ "type": "local", "command": invocation.words(&["mcp"]), "enabled": true });
    let asked = Operation::tools().filter(|tool| tool.effect() == Effect::Destroys);
    let asked = asked.map(|tool| (format!("{NAME}_{tool}"), "ask"));
    let rules = [(format!("{NAME}_mem_*"), "allow")].into_iter().chain(asked).map(|(tools, rule)| Piece {
        part: Part::Permissions,
        content: Content::Entry { path: vec!["permission".to_owned(), tools], value: json!(rule) },
    });
    let command = json!(invocation.words(&["hook", HookAgent::OpenCode.as_str()])).to_string();
    let [plugin, journal] =
        [OPENCODE_PLUGIN, OPENCODE_JOURNAL].map(|text| text.replace("[/* COMMAND */]", &command));
    vec![
        Target::new(
            existing(&folder, ["opencode.json", "opencode.jsonc"]),
            Format::Json,
            [server(&["mcp"], entry)].into_iter().chain(rules),
        ),
        Target::new(
            folder.join("plugins/cerebro.ts"),
            Format::Whole,
            [Piece { part: Part::Hooks, content: Content::Text(plugin) }],
        ),
        Target::new(
            folder.join("plugins/cerebro-journal.ts"),
            Format::Whole,
            [Piece { part: Part::Journal, content: Content::Text(journal) }],
        ),
        Target::new(folder.join("AGENTS.md"), Format::Block, [instructions(INSTRUCTIONS)]),
    ]
}

fn cursor(folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
    let folder = folders.home(".cursor");
    let entry = json!({ "command": invocation.program(), "args": invocation.arguments(&["mcp"]) });
    let version = Content::Default { path: path(&["version"]), value: json!(1) };
    let hooks =
        hooks(HookAgent::Cursor, invocation, |_, line| json!({ "command": line, "timeout": HOOK_SECONDS }));
    let hooks = [Piece { part: Part::Hooks, content: version }].into_iter().chain(hooks);
    vec![
        Target::new(folder.join("mcp.json"), Format::Json, [server(&["mcpServers"], entry)]),
        Target::new(folder.join("hooks.json"), Format::Json, hooks),
    ]
}

fn vscode(folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
    let folder = folders.application().join("Code/User");
    let entry = json!({
        "type": "stdio", "command": invocation.program(), "args": invocation.arguments(&["mcp"]),
    });
    let text = format!(
        "---\napplyTo: '**'\ndescription: Memory with Cerebro, {WRITTEN_BY}setup vscode`\n---\n\n{INSTRUCTIONS}"
    );
    vec![
        Target::new(folder.join("mcp.json"), Format::Json, [server(&["servers"], entry)]),
        Target::new(folder.join("prompts/cerebro.instructions.md"), Format::Whole, [instructions(&text)]),
    ]
}

fn windsurf(folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
    let folder = folders.home(".codeium/windsurf");
    let entry = json!({ "command": invocation.program(), "args": invocation.arguments(&["mcp"]) });
    vec![
        Target::new(folder.join("mcp_config.json"), Format::Json, [server(&["mcpServers"], entry)]),
        Target::new(folder.join("memories/global_rules.md"), Format::Block, [instructions(INSTRUCTIONS)]),
    ]
}

fn zed(folders: &UserFolders, invocation: &Invocation) -> Vec<Target> {
    let entry = json!({
        "source": "custom", "command": invocation.program(), "args": invocation.arguments(&["mcp"]),
        "env": {},
    });
    let rules = allowed().map(|tool| Piece {
        part: Part::Permissions,
        content: Content::Entry {
            path: path(&["agent", "tool_permissions", "tools", &format!("mcp:{NAME}:{tool}")]),
            value: json!({ "default": "allow" }),
        },
    });
    let pieces = [server(&["context_servers"], entry)].into_iter().chain(rules);
    vec![Target::new(folders.config().join("zed/settings.json"), Format::Json, pieces)]
}

/// The first of these files that exists, otherwise the first.
fn existing(folder: &Path, names: [&str; 2]) -> PathBuf {
    let paths = names.map(|name| folder.join(name));
    let [first, _] = &paths;
    paths.iter().find(|path| path.exists()).unwrap_or(first).clone()
}

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn server(way: &[&str], value: Value) -> Piece {
    let path = way.iter().copied().chain([NAME]).map(str::to_owned).collect();
    Piece { part: Part::Server, content: Content::Entry { path, value } }
}

fn rule(way: &[&str], rule: String) -> Piece {
    let content = Content::Element { path: path(way), value: json!(rule), mark: Mark::Value };
    Piece { part: Part::Permissions, content }
}

/// One hook per event of an agent. `entry` writes it from the event and the command line, which ends with the event.
fn hooks(
    agent: HookAgent,
    invocation: &Invocation,
    entry: impl Fn(&str, String) -> Value,
) -> impl Iterator<Item = Piece> {
    agent.events().iter().map(move |&event| {
        let words = ["hook", agent.as_str(), event];
        let value = entry(event, invocation.line(&words));
        let mark = Mark::of_command(invocation, &words);
        Piece { part: Part::Hooks, content: Content::Element { path: path(&["hooks", event]), value, mark } }
    })
}

/// One hook per event of the journal of work, limited to the relevant tools. `entry` writes the command from its
/// line.
fn journal(
    agent: HookAgent,
    invocation: &Invocation,
    entry: impl Fn(String) -> Value,
) -> impl Iterator<Item = Piece> {
    agent.journal_events().iter().map(move |&(event, matcher)| {
        let name = agent.as_str();
        // Distinguishes it from the other hook of the same event. The command ignores it.
        let more: &[&str] = if agent.events().contains(&event) { &["journal"] } else { &[] };
        let words = [&["hook", name, event], more].concat();
        let mut value = json!({ "hooks": [entry(invocation.line(&words))] });
        if let Some(matcher) = matcher {
            value["matcher"] = json!(matcher);
        }
        let mark = Mark::of_command(invocation, &words);
        Piece {
            part: Part::Journal,
            content: Content::Element { path: path(&["hooks", event]), value, mark },
        }
    })
}

fn instructions(text: &str) -> Piece {
    Piece { part: Part::Instructions, content: Content::Text(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_names_the_session_of_the_tools_that_belong_to_one() {
        let table = OPENCODE_PLUGIN.split("const SESSION_ARGUMENT = {").nth(1).unwrap();
        let mut named: Vec<&str> = table.split('}').next().unwrap().lines().map(str::trim).collect();
        named.retain(|line| !line.is_empty());
        let mut want: Vec<String> = Operation::tools()
            .filter_map(|tool| Some(format!("{NAME}_{tool}: \"{}\",", tool.session_argument()?)))
            .collect();
        named.sort_unstable();
        want.sort_unstable();
        assert_eq!(named, want);
    }

    #[test]
    fn what_takes_something_away_asks_first() {
        let allowed: Vec<&str> = allowed().collect();
        assert_eq!(allowed.len(), Operation::TOOL_COUNT - 1);
        assert!(!allowed.contains(&Operation::Delete.name()));
    }
}
