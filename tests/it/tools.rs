//! The published list of tools, and the texts that explain them to agents.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::{Home, TOOLS, Value, json};

const LIST_BYTES_MAX: usize = 12_000;
const DESCRIPTION_BYTES_MAX: usize = 2_000;

const READS: [&str; 6] = [
    "mem_context", "mem_search", "mem_get_observation", "mem_timeline", "mem_stats", "mem_suggest_topic_key",
];

/// Tool, required arguments, optional arguments.
const ARGUMENTS: [(&str, &[&str], &[&str]); 13] = [
    ("mem_session_start", &[], &["id", "project", "directory", "agent", "parent_id"]),
    ("mem_session_end", &[], &["session_id", "summary"]),
    (
        "mem_session_summary",
        &[],
        &["session_id", "content", "goal", "discoveries", "accomplished", "next_steps", "files"],
    ),
    ("mem_context", &[], &["project", "scope", "limit", "max_bytes"]),
    (
        "mem_save",
        &["title", "content"],
        &[
            "type", "project", "scope", "topic_key", "tags", "session_id", "supersedes", "evidence", "kind",
            "valid_from", "valid_until", "trigger", "revive",
        ],
    ),
    (
        "mem_update",
        &["id"],
        &[
            "title", "content", "type", "project", "scope", "topic_key", "tags", "expected_revision",
            "verified", "supersedes", "evidence", "valid_from", "valid_until", "kind", "trigger", "done",
            "revive",
        ],
    ),
    ("mem_delete", &["id"], &["hard"]),
    ("mem_suggest_topic_key", &[], &["type", "title", "content"]),
    (
        "mem_search",
        &["query"],
        &[
            "project", "scope", "type", "tags", "since", "until", "all_projects", "limit", "cursor", "as_of",
            "valid_at", "archived",
        ],
    ),
    ("mem_get_observation", &["id"], &["history", "offset", "max_bytes", "as_of"]),
    ("mem_timeline", &["id"], &["before", "after", "within"]),
    ("mem_save_prompt", &["content"], &["project", "session_id"]),
    ("mem_stats", &[], &["project"]),
];

fn list() -> Value {
    let home = Home::new();
    home.pump().start().request("tools/list", json!({})).unwrap()
}

fn names(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(map) => map.keys().cloned().collect(),
        Value::Array(items) => items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => BTreeSet::new(),
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_list_is_the_golden_one() {
    let list = list();
    let shown = format!("{}\n", serde_json::to_string_pretty(&list["tools"]).unwrap());
    let golden = in_repository("tests/golden/tools.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
        std::fs::write(&golden, &shown).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(
        expected == shown,
        "the tool list differs from {}; if that is meant, run with UPDATE_GOLDEN=1. It is now:\n{shown}",
        golden.display()
    );
}

#[test]
fn the_list_is_whole_in_order_and_within_its_budget() {
    let list = list();
    let names: Vec<&str> =
        list["tools"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(names, *TOOLS);
    let bytes = list.to_string().len();
    assert!(bytes < LIST_BYTES_MAX, "{bytes} bytes");
    assert!(list.get("nextCursor").is_none_or(Value::is_null), "all in one page: {}", list["nextCursor"]);
}

#[test]
fn every_tool_has_title_description_and_four_hints() {
    for tool in list()["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let title = tool["title"].as_str().or(tool["annotations"]["title"].as_str());
        assert!(title.is_some_and(|title| !title.is_empty()), "no title: {tool}");
        let description = tool["description"].as_str().unwrap_or_default();
        assert!((1..DESCRIPTION_BYTES_MAX).contains(&description.len()), "{name}: {}", description.len());

        let hints = &tool["annotations"];
        let is_read = READS.contains(&name);
        assert_eq!(hints["openWorldHint"], false, "{name}: {hints}");
        assert_eq!(hints["readOnlyHint"], is_read, "{name}: {hints}");
        assert_eq!(hints["destructiveHint"], name == "mem_delete", "{name}: {hints}");
        let is_idempotent = &hints["idempotentHint"];
        assert!(is_idempotent.is_boolean(), "{name}: {hints}");
        if is_read || name == "mem_delete" {
            assert_eq!(is_idempotent, true, "{name}: {hints}");
        }
    }
}

#[test]
fn the_three_hot_tools_are_always_loaded() {
    for tool in list()["tools"].as_array().unwrap() {
        let is_hot = ["mem_search", "mem_save", "mem_context"].iter().any(|hot| tool["name"] == *hot);
        let is_loaded = tool["_meta"]["anthropic/alwaysLoad"] == true;
        assert_eq!(is_loaded, is_hot, "{tool}");
    }
}

#[test]
fn the_schemas_publish_the_arguments_of_the_contract_and_no_aliases() {
    let list = list();
    for (name, required, optional) in ARGUMENTS {
        let tool = list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        let schema = &tool["inputSchema"];
        let all: Vec<&str> = required.iter().chain(optional).copied().collect();
        assert_eq!(names(&schema["properties"]), set(&all), "{name}: {schema}");
        assert_eq!(names(&schema["required"]), set(required), "{name}: {schema}");
    }
}

#[test]
fn the_schemas_are_portable() {
    for tool in list()["tools"].as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{tool}");
        for union in ["anyOf", "oneOf", "allOf"] {
            assert!(schema.get(union).is_none(), "{union} at the root of {tool}");
        }
        let mut violations = Vec::new();
        lint(schema, tool["name"].as_str().unwrap(), &mut violations);
        assert!(violations.is_empty(), "{violations:#?}");
        // Clients validate results against an output schema, and the contract publishes none.
        assert!(tool.get("outputSchema").is_none(), "{tool}");
    }
}

/// What the strict lint of the official Inspector objects to, and what clients are known to drop.
fn lint(schema: &Value, path: &str, violations: &mut Vec<String>) {
    let Some(object) = schema.as_object() else {
        violations.push(format!("{path} is a bare {schema}"));
        return;
    };
    if object.get("type").is_some_and(Value::is_array) {
        violations.push(format!("{path} has a list of types"));
    }
    if ["type", "enum", "const", "$ref", "anyOf", "oneOf"].iter().all(|key| !object.contains_key(*key)) {
        violations.push(format!("{path} says nothing of its type"));
    }
    if object.get("default").is_some_and(Value::is_null) {
        violations.push(format!("{path} defaults to null"));
    }
    if object.get("type").is_some_and(|kind| kind == "array") && !object.contains_key("items") {
        violations.push(format!("{path} is a list of nothing"));
    }
    for (name, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        lint(property, &format!("{path}.{name}"), violations);
    }
    if let Some(items) = object.get("items") {
        lint(items, &format!("{path}[]"), violations);
    }
}

#[test]
fn the_lint_detects_what_it_forbids() {
    for bad in [
        json!({"type": "object", "properties": {"a": true}}),
        json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
        json!({"type": "object", "properties": {"a": {}}}),
        json!({"type": "object", "properties": {"a": {"type": "string", "default": null}}}),
        json!({"type": "object", "properties": {"a": {"type": "array"}}}),
        json!({"type": "object", "properties": {"a": {"type": "array", "items": true}}}),
    ] {
        let mut violations = Vec::new();
        lint(&bad, "t", &mut violations);
        assert_eq!(violations.len(), 1, "{bad}: {violations:?}");
    }
}

#[test]
fn the_prompt_template_knows_every_tool_and_no_other() {
    let template = std::fs::read_to_string(in_repository("prompt_template.md")).unwrap();
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let named: BTreeSet<String> = template
        .split(|c: char| !is_name(c))
        .filter(|word| word.starts_with("mem_") && word.len() > "mem_".len())
        .map(str::to_owned)
        .collect();
    assert_eq!(named, set(&TOOLS));
}

#[test]
fn the_texts_for_agents_explain_the_habits_in_plain_words() {
    let home = Home::new();
    let (short, full) = (home.run(&["prompt"]).success(), home.run(&["prompt", "--full"]).success());
    for text in [&short, &full] {
        for word in ["What", "Why", "Where", "Learned", "topic_key", "ecret"] {
            assert!(text.contains(word), "{word} is not in {text}");
        }
        for threat in ["MUST", "MANDATORY", "CRITICAL", "ALWAYS", "NEVER", "IMPORTANT"] {
            assert!(!text.contains(threat), "the text shouts {threat}: {text}");
        }
    }
    assert_eq!(full, std::fs::read_to_string(in_repository("prompt_template.md")).unwrap());
}

#[test]
fn what_setup_puts_into_instructions_is_ten_lines() {
    let text = Home::new().run(&["prompt"]).success();
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 10 && text.len() <= 2_000, "{lines} lines, {} bytes", text.len());
    assert!(!text.contains("hard"), "destroying is not an agent's habit: {text}");
    for tool in ["mem_context", "mem_search", "mem_get_observation", "mem_save", "mem_session_summary"] {
        assert!(text.contains(tool), "{tool} is not in {text}");
    }
}
