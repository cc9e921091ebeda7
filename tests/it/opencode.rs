//! OpenCode's plugins, driven by Node as OpenCode drives them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Home, PROGRAM, Value, finish, json, skip};

/// Puts the plugins where Node takes them for modules; `None` where there is no Node.
fn plugins(home: &Home) -> Option<[PathBuf; 2]> {
    let mut node = std::process::Command::new("node");
    if node.arg("--version").output().is_err() {
        skip("OpenCode's plugins: there is no node here");
        return None;
    }
    home.run(&["setup", "opencode"]).success();
    Some(["cerebro", "cerebro-journal"].map(|name| {
        let to = home.folder("plugins").join(format!("{name}.mjs"));
        fs::copy(home.user().join(format!(".config/opencode/plugins/{name}.ts")), &to).unwrap();
        to
    }))
}

fn drive(home: &Home, driver: &str, words: &[&Path]) -> Value {
    let path = home.folder("plugins").join("driver.mjs");
    fs::write(&path, driver).unwrap();
    let mut node = std::process::Command::new("node");
    node.arg(path).args(words).current_dir(home.work()).env("HOME", home.user());
    finish(&mut node).json()
}

/// Reports a hundred calls at once.
const MANY: &str = r#"
const { CerebroJournal } = await import(process.argv[2])
const plugin = await CerebroJournal({ directory: process.cwd() })
for (let n = 0; n < 100; n++) {
  plugin["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: `c-${n}` }, { args: { command: `make ${n}` } })
}
console.log("{}")
"#;

#[test]
fn the_journal_reports_in_order_and_counts_what_it_left_out() {
    let home = Home::new();
    let Some([_, journal]) = plugins(&home) else { return };
    // Takes the place of the program and records what it gets.
    let received = home.folder("plugins").join("received.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let line = text.lines().find(|line| line.starts_with("const COMMAND = ")).unwrap();
    let noting = json!(["sh", "-c", format!("cat >> {0}; echo >> {0}", received.display())]);
    fs::write(&journal, text.replace(line, &format!("const COMMAND = {noting}"))).unwrap();
    drive(&home, MANY, &[&journal]);
    let received = fs::read_to_string(received).unwrap();
    let received: Vec<Value> = received.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&str> = received.iter().map(|call| call["tool_use_id"].as_str().unwrap()).collect();
    let want: Vec<String> = (0..received.len()).map(|n| format!("c-{n}")).collect();
    assert_eq!(ids, want, "in order");
    let missed: u64 = received.iter().filter_map(|call| call["missed"]["count"].as_u64()).sum();
    assert_eq!(received.len() as u64 + missed, 100, "{received:?}");
    assert!((1..100).contains(&missed), "more than wait is counted: {missed}");
}

/// The system prompt of a session, at its beginning and after a compaction.
const SHORTENED: &str = r#"
import { execFileSync } from "node:child_process"
const [{ Cerebro }, { CerebroJournal }] = await Promise.all(process.argv.slice(2, 4).map((path) => import(path)))
const cerebro = (...words) => execFileSync(process.argv[4], ["--home", process.argv[5], ...words]).toString()
let created = Date.now()
const client = { session: { get: async () => ({ data: { time: { created } } }), messages: async () => ({ data: [] }) } }
const begin = () => Cerebro({ client, directory: process.cwd() })
let plugin = await begin()
const journal = await CerebroJournal({ directory: process.cwd() })
const system = async (sessionID) => {
  const output = { system: [] }
  await plugin["experimental.chat.system.transform"]({ sessionID }, output)
  return output.system.join()
}
const ask = (sessionID, text) => plugin["chat.message"]({ sessionID }, { parts: [{ type: "text", text }] })
created = Date.now() + 60000
await ask("first", "Mend the PEM case")
await journal["tool.execute.before"]({ tool: "bash", sessionID: "first", callID: "c" }, { args: { command: "make deploy" } })
await plugin["experimental.text.complete"]({ sessionID: "first" }, { text: "I deploy" })
const contexts = [await system("first")]
await plugin.event({ event: { type: "session.compacted", properties: { sessionID: "first" } } })
contexts.push(await system("first"))
created = 0
plugin = await begin()
contexts.push(await system("first"))
await plugin.event({ event: { type: "session.idle", properties: { sessionID: "first" } } })
plugin = await begin()
contexts.push(await system("first"))
console.log(JSON.stringify(contexts))
"#;

#[test]
fn a_session_gets_its_own_work_after_a_compaction_and_when_it_resumes() {
    let home = Home::new();
    let Some([plugin, journal]) = plugins(&home) else { return };
    home.json(&["projects"]);
    let words = [plugin.as_path(), &journal, Path::new(PROGRAM), home.data()];
    let contexts = drive(&home, SHORTENED, &words);
    let has_work: Vec<bool> = contexts
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().contains("Unfinished: \""))
        .collect();
    // At its beginning there is nothing; then a compaction, a process of its own, and a turn that ended.
    assert_eq!(has_work, [false, true, true, false], "{contexts}");
    assert!(contexts[1].as_str().unwrap().contains("Mend the PEM case"), "{contexts}");
}

/// The first system prompt of a session whose prompt came before it, as always with OpenCode.
const FIRST: &str = r#"
const { Cerebro } = await import(process.argv[2])
const client = { session: { get: async () => ({ data: { time: { created: Date.now() + 60000 } } }) } }
const plugin = await Cerebro({ client, directory: process.cwd() })
await plugin["chat.message"]({ sessionID: "second" }, { parts: [{ type: "text", text: "What is left" }] })
const output = { system: [] }
await plugin["experimental.chat.system.transform"]({ sessionID: "second" }, output)
console.log(JSON.stringify(output.system))
"#;

#[test]
fn a_session_gets_another_ones_work_even_after_its_first_prompt() {
    let home = Home::new();
    let Some([plugin, _]) = plugins(&home) else { return };
    home.json(&["projects"]);
    let server = home.pump().env("CLAUDE_CODE_SESSION_ID", "first").client("claude-code").start();
    let prompt = json!({ "prompt": "Mend the PEM case" });
    crate::hooks::report(&home, "claude-code", "UserPromptSubmit", "first", prompt);
    drop(server);
    crate::work_hooks::wait_for(&home, "the loss is seen", |works| works[0]["stale"] == "lost");
    let context = drive(&home, FIRST, &[&plugin]).to_string();
    assert!(context.contains("Unfinished: ") && context.contains("Mend the PEM case"), "{context}");
}
