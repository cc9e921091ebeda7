//! What people ask of past sessions.

use std::fs;

use crate::support::transcripts::Claude;
use crate::support::{Home, Value, json};

/// A home with one session that mended a file.
fn furnished() -> Home {
    let home = Home::new();
    let file = home.work().join("src/petrel.rs");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "fn petrel() {}\nlet storm = brew(petrel);\n").unwrap();
    Claude::new("s-1", &home.work())
        .turn("Mend the petrel", "Looking.")
        .call(
            "Bash",
            json!({"command": "cargo test"}),
            "error[E0425]: cannot find value `storm` at line 12",
            true,
        )
        .call(
            "Edit",
            json!({"file_path": file, "old_string": "x", "new_string": "let storm = brew(petrel);"}),
            "ok",
            false,
        )
        .call("Bash", json!({"command": "cargo test"}), "ok", false)
        .turn("Thanks", "You are welcome, and the petrel flies again over the northern sea.")
        .write(&home);
    let other = home.folder("other");
    Claude::new("s-2", &other).turn("Something about the heron", "Yes.").write(&home);
    home.take_in();
    home
}

fn only(answer: &Value) -> &Value {
    let facts = answer["facts"].as_array().unwrap_or_else(|| panic!("no facts in {answer}"));
    assert_eq!(facts.len(), 1, "{answer}");
    &facts[0]
}

#[test]
fn files_lines_commands_and_errors_lead_to_their_session() {
    let home = furnished();
    for file in ["petrel.rs", "src/petrel.rs"] {
        let fact = home.json(&["history", "files", file]);
        assert_eq!(
            (&only(&fact)["session"], &only(&fact)["title"]),
            (&json!("s-1"), &json!("Mend the petrel"))
        );
    }
    let fact = home.json(&["history", "blame", "src/petrel.rs:2"]);
    assert_eq!((&fact["line_found"], &only(&fact)["session"]), (&json!(true), &json!("s-1")), "{fact}");
    let fact = home.json(&["history", "blame", "src/petrel.rs:1"]);
    assert_eq!(fact["line_found"], false, "{fact}");
    assert_eq!(home.run(&["history", "blame", "src/petrel.rs:9"]).code(), 1);

    let fact = home.json(&["history", "how", "cargo test"]);
    let told = only(&fact);
    assert_eq!((&told["succeeded"], &told["failed"]), (&json!(1), &json!(1)), "{fact}");
    let fact = home.json(&["history", "fix", "cannot find value `storm` at line 99"]);
    let told = only(&fact);
    assert_eq!((&told["session"], &told["then"]), (&json!("s-1"), &json!(["cargo test"])), "{fact}");
    assert_eq!(home.json(&["history", "fix", "segmentation fault"])["facts"], json!([]));
    assert_eq!(home.run(&["history", "how", " "]).code(), 1);
}

#[test]
fn a_search_names_the_agents_own_session() {
    let home = furnished();
    let found = home.json(&["history", "search", "petrel"]);
    let hits = found["hits"].as_array().unwrap();
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit["session"] == "s-1"), "{found}");
    let here = home.json(&["history", "search", "heron"]);
    assert_eq!(here["hits"].as_array().unwrap().len(), 0, "another project's: {here}");
    let all = home.json(&["history", "search", "heron", "--all-projects"]);
    assert_eq!(all["hits"][0]["session"], "s-2", "{all}");
    let shown = home.run(&["history", "search", "petrel"]).success();
    assert!(shown.contains("s-1") && shown.contains("claude-code"), "{shown}");
}

#[test]
fn a_session_is_shown_whole() {
    let home = furnished();
    let shown = home.json(&["history", "show", "s-1", "--full"]);
    assert_eq!((&shown["agent"], &shown["total"]), (&json!("claude-code"), &json!(2)), "{shown}");
    let text = shown["exchanges"][0]["text"].as_str().unwrap();
    assert!(text.contains("$ cargo test") && text.contains("E0425"), "{text}");
    assert_eq!(home.run(&["history", "show", "none"]).code(), 1);
    let listed = home.run(&["history", "show"]).success();
    assert!(listed.contains("s-1") && listed.contains("s-2"), "{listed}");
}

#[test]
fn what_was_forgotten_does_not_come_back() {
    let home = furnished();
    assert_eq!(home.run(&["history", "forget", "--session", "s-1"]).code(), 2, "nobody said yes");
    assert_eq!(home.run(&["history", "forget", "--yes"]).code(), 2, "and not everything");
    let gone = home.json(&["history", "forget", "--session", "s-1", "--yes"]);
    assert_eq!(gone["sessions"], 1, "{gone}");
    Claude::new("s-1", &home.work()).turn("Mend the petrel", "Looking.").long(3).write(&home);
    home.take_in();
    assert_eq!(home.json(&["history", "search", "petrel"])["hits"], json!([]));
    let listed = home.json(&["history", "show"])["sessions"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 1, "{listed:?}");
}
