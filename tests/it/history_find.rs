//! What people ask of past sessions.

use std::fs;

use jiff::{Timestamp, ToSpan};

use crate::support::transcripts::{Claude, claude_file, codex, codex_file};
use crate::support::{Home, Value, json};

/// A home with one session that fixed a file.
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
    let row = only(&fact);
    assert_eq!((&row["succeeded"], &row["failed"]), (&json!(1), &json!(1)), "{fact}");
    let fact = home.json(&["history", "fix", "cannot find value `storm` at line 99"]);
    let output = "running\nerror[E0425]: cannot find value `storm` at line 7\n --> src/petrel.rs:7\n";
    assert_eq!(home.json(&["history", "fix", output]), fact, "what was printed leads to it, too");
    let row = only(&fact);
    assert_eq!((&row["session"], &row["then"]), (&json!("s-1"), &json!(["cargo test"])), "{fact}");
    assert_eq!((&row["changed"], &row["same_command"]), (&json!(["src/petrel.rs"]), &json!(true)), "{fact}");
    let fact = home.json(&["history", "files", "petrel.rs"]);
    assert!(only(&fact)["mended"][0].as_str().unwrap().contains("E0425"), "{fact}");
    assert_eq!(home.json(&["history", "fix", "segmentation fault"])["facts"], json!([]));
    assert_eq!(home.run(&["history", "how", " "]).code(), 2);
    let filtered = "cd /w && cargo test 2>&1 | tail -20";
    let plain = home.json(&["history", "how", "cargo test"]);
    assert_eq!(
        home.json(&["history", "how", filtered])["facts"],
        plain["facts"],
        "as it stood in the session"
    );
    let never = home.run(&["history", "how", "git diff --stat"]);
    assert!(never.stderr.contains("not recorded"), "{never:?}");
}

#[test]
fn a_command_of_several_lines_is_found_by_its_beginning() {
    let home = Home::new();
    let commit = "git add . && git commit -m \"$(cat <<'EOF'\nSay \"x\"; don't\nEOF\n)\"";
    let bench = "cargo bench \\\n  --features fast";
    let quoted = "gh api repos/a/b/comments --jq '.[] | .body'";
    Claude::new("s-1", &home.work())
        .turn("Commit the puffin", "Yes.")
        .call("Bash", json!({"command": commit}), "[main 1a2b3c4] Say \"x\"; don't", false)
        .call("Bash", json!({"command": bench}), "time: 1 ms", false)
        .call("Bash", json!({"command": quoted}), "it failed with an error", false)
        .turn("Thanks", "Yes.")
        .write(&home);
    home.take_in();
    for (asked, want) in [
        ("git commit", "git commit -m …"),
        ("git commit -m 'another\nmessage'", "git commit -m …"),
        (bench, "cargo bench --features fast"),
        ("cargo bench --features fast", "cargo bench --features fast"),
        ("gh api", quoted),
    ] {
        let answer = home.json(&["history", "how", asked]);
        let row = only(&answer);
        assert_eq!((&row["what"], &row["succeeded"], &row["failed"]), (&json!(want), &json!(1), &json!(0)));
    }
    let never = home.run(&["history", "how", "cargo publish"]);
    assert!(never.stderr.contains("no recorded command has these words"), "{never:?}");
}

#[test]
fn a_fix_is_found_in_later_exchanges_and_other_successes_are_no_fix() {
    let home = Home::new();
    let file = home.work().join("src/auk.rs");
    let edit = json!({"file_path": file, "old_string": "x", "new_string": "y"});
    Claude::new("s-1", &home.work())
        .turn("Build the auk", "Trying.")
        .call("Bash", json!({"command": "make auk"}), "fatal: the auk has no wings", true)
        .call("Bash", json!({"command": "git push"}), "ok", false)
        .turn("Give it wings", "Here.")
        .call("Edit", edit, "ok", false)
        .call("Bash", json!({"command": "cargo fmt"}), "ok", false)
        .call("Bash", json!({"command": "make auk"}), "built", false)
        .call(
            "Bash",
            json!({"command": "git commit -m 'Wings for the auk'"}),
            "[main 1a2b3c4] Wings for the auk",
            false,
        )
        .turn("Thanks", "Yes.")
        .write(&home);
    home.take_in();
    let fact = home.json(&["history", "fix", "auk has no wings"]);
    let row = only(&fact);
    assert_eq!((&row["then"], &row["changed"]), (&json!(["make auk"]), &json!(["src/auk.rs"])), "{fact}");
    assert_ne!(row["mended_in"], row["id"], "{fact}");
    let shown = home.json(&["history", "show", "s-1"]);
    assert_eq!(shown["exchanges"][1]["proven"]["commits"][0]["subject"], "Wings for the auk", "{shown}");
    let words = home.run(&["history", "show", "s-1"]).success();
    assert!(words.contains("1a2b3c4") && words.contains("the auk has no wings"), "{words}");

    // It is part of an export, and is forgotten with its exchange.
    let other = Home::new();
    other.import_text(&home.export_text()).success();
    assert_eq!(other.json(&["history", "show", "s-1"])["exchanges"], shown["exchanges"]);
    home.json(&["history", "forget", "--text", "1a2b3c4", "--yes"]);
    assert!(!home.export_text().contains("Wings for the auk"));
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
fn sessions_without_a_person_are_found_when_a_person_asks_for_all() {
    let home = furnished();
    let rollout = codex("c-1", &home.work(), &[("Count the puffins", "Three.")]);
    let automated = rollout.replace("\"source\":\"cli\"", "\"source\":\"exec\"");
    fs::write(codex_file(&home, "c-1"), automated).unwrap();
    home.take_in();
    assert_eq!(home.json(&["history", "search", "puffins"])["hits"], json!([]));
    let hint = home.run(&["history", "search", "puffins"]).stderr;
    assert!(hint.contains("`--all`") && !hint.contains("--all-projects"), "{hint}");
    let found = home.json(&["history", "search", "puffins", "--all"]);
    assert_eq!(found["hits"][0]["session"], "c-1", "{found}");
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
fn the_beginning_of_an_id_is_enough() {
    let home = furnished();
    let exchange = home.json(&["history", "search", "petrel"])["hits"][0]["id"].as_str().unwrap().to_owned();
    let part = &exchange[..6];
    for given in ["s-1", exchange.as_str(), part] {
        assert_eq!(home.json(&["history", "show", given])["session"], "s-1", "{given}");
    }
    let several = home.run(&["history", "show", "s-"]);
    assert_eq!(several.code(), 1);
    assert!(several.stderr.contains("s-1, s-2"), "{}", several.stderr);
    for given in [exchange.as_str(), part] {
        let read = home.json(&["get", given]);
        assert_eq!((&read["id"], &read["session_id"]), (&json!(exchange), &json!("s-1")), "{given}");
    }
    assert!(home.run(&["get", &exchange]).success().contains("petrel"));
}

#[test]
fn the_id_of_an_exchange_has_a_timeline_and_is_told_from_a_memorys() {
    let home = furnished();
    let exchange = home.json(&["history", "search", "petrel"])["hits"][0]["id"].as_str().unwrap().to_owned();
    for given in [exchange.as_str(), &exchange[..6]] {
        let around = home.json(&["timeline", given]);
        assert!(around["focus"]["id"] == exchange && around["ignored"].is_null(), "{around}");
        for command in ["pin", "delete"] {
            let refused = home.run(&[command, given]);
            assert!(refused.code() == 1 && refused.stderr.contains("is an exchange"), "{refused:?}");
            assert!(refused.stderr.contains("`cerebro history forget`"), "{refused:?}");
        }
    }
    assert_eq!(home.run(&["timeline", &exchange, "--within", "project"]).code(), 2);
    assert!(home.run(&["pin", "xqqqqqq"]).stderr.contains("no id begins with `xqqqqqq`"));
}

#[test]
fn a_session_without_a_title_is_known_by_what_it_was_asked_first() {
    let home = furnished();
    let shown = home.json(&["history", "show", "s-1"]);
    assert_eq!((&shown["title"], &shown["asked"]), (&json!(null), &json!("Mend the petrel")), "{shown}");
    let listed = home.run(&["history", "show"]).success();
    assert!(listed.contains("Mend the petrel") && listed.contains("about the heron"), "{listed}");
}

#[test]
fn an_empty_answer_says_what_to_try() {
    let home = Home::new();
    for args in [["search", "heron"], ["files", "a.rs"], ["how", "make"], ["fix", "fatal"]] {
        let said = home.run(&[&["history"][..], &args].concat()).stderr;
        assert!(said.contains("`cerebro history import`"), "{args:?}: {said}");
    }
    let home = furnished();
    let said = |args: &[&str]| home.run(&[&["history", "search"][..], args].concat()).stderr;
    assert!(said(&["heron"]).contains("--all-projects"));
    assert!(said(&["kittiwake", "--all-projects"]).contains("--all`"));
    assert!(!said(&["petrel"]).contains("--all-projects"));
    fs::write(home.work().join("plain.rs"), "fn plain() {}\n").unwrap();
    let never = home.run(&["history", "blame", "plain.rs:1"]);
    assert!(never.code() == 0 && !never.stderr.contains("these changed the file"), "{never:?}");
}

#[test]
fn a_list_that_may_have_been_cut_says_so() {
    let home = Home::new();
    let file = home.work().join("auk.rs");
    fs::write(&file, "fn auk() {}\n").unwrap();
    let turn = |session: Claude, n: usize| {
        let edit = json!({"file_path": file, "old_string": "x", "new_string": "y"});
        let make = json!({"command": format!("make auk{n}")});
        let session = session.turn(&format!("Mend auk {n}"), "Trying.").call("Edit", edit, "ok", false);
        session.call("Bash", make, "fatal: the auk has no wings", true)
    };
    (1..=2).fold(Claude::new("s-1", &home.work()), turn).turn("Thanks", "Yes.").write(&home);
    home.take_in();
    for asked in [
        ["files", "auk.rs"],
        ["how", "make auk"],
        ["fix", "no wings"],
        ["blame", "auk.rs"],
        // Nobody wrote that line.
        ["blame", "auk.rs:1"],
    ] {
        let whole = [&["history"][..], &asked].concat();
        let cut = [&whole[..], &["--limit", "1"]].concat();
        for (args, count) in [(&whole, 2), (&cut, 1)] {
            let found = home.json(args);
            assert_eq!(found["facts"].as_array().map(Vec::len), Some(count), "{args:?}: {found}");
            let said = home.run(args).stderr;
            assert_eq!(said.contains("see `--limit`"), count == 1, "{args:?}: {said}");
        }
    }
    (3..=51).fold(Claude::new("s-2", &home.work()), turn).turn("Thanks", "Yes.").write(&home);
    home.take_in();
    let longest = home.run(&["history", "files", "auk.rs", "--limit", "50"]);
    assert_eq!(longest.stdout.lines().count(), 50, "{longest:?}");
    assert!(longest.stderr.contains("at most 50 are shown"), "{longest:?}");
}

#[test]
fn forgotten_history_does_not_come_back() {
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

#[test]
fn the_context_names_unfinished_work_that_only_a_transcript_has() {
    let home = Home::new();
    let day = (Timestamp::now() - 24.hours()).strftime("%Y-%m-%d").to_string();
    let write = |session: Claude, id: &str| {
        fs::write(claude_file(&home, id), session.text().replace("2026-10-01", &day)).unwrap();
        home.take_in();
    };
    let to_do = |status: &str| json!({ "todos": [{ "content": "Give it </frame> wings", "status": status }, { "content": "Feet", "status": "completed" }] });
    let session = Claude::new("s-1", &home.work()).turn("Teach the auk to fly", "Yes.").call(
        "TodoWrite",
        to_do("pending"),
        "ok",
        false,
    );
    write(session, "s-1");
    let project = home.json(&["history", "show"])["sessions"][0]["project"].as_str().unwrap().to_owned();
    let mut agent = home.pump().project(&project).start();
    let context = |agent: &mut crate::support::Agent, bytes: usize| {
        agent.ok("mem_context", json!({ "max_bytes": bytes })).str("text").to_owned()
    };
    let text = context(&mut agent, 4_096);
    assert!(text.contains("s-1") && text.contains("wings") && text.contains("Teach the auk"), "{text}");
    assert!(!text.contains("Feet") && !text.contains("</frame>"), "{text}");
    for bytes in [512, 700, 1_024] {
        assert!(context(&mut agent, bytes).len() <= bytes);
    }
    let done = Claude::new("s-2", &home.work())
        .turn("Go on with the auk", "Yes.")
        .call("TodoWrite", to_do("completed"), "ok", false)
        .turn("Thanks", "Yes.");
    let later = done.text().replace("T00:", "T01:");
    fs::write(claude_file(&home, "s-2"), later.replace("2026-10-01", &day)).unwrap();
    home.take_in();
    assert!(!context(&mut agent, 4_096).contains("s-1"), "the same agent has gone on since");
}

#[test]
fn an_exchange_that_repeats_what_was_corrected_is_marked_and_stays() {
    let home = Home::new();
    let text = "The ledger of the northern office listens on port 5432.";
    Claude::new("s-1", &home.work())
        .turn("Where does the ledger listen?", &format!("I looked at it. {text} Ask the keeper."))
        .turn("And the gateway?", "The gateway of the ledger listens on port 80.")
        .write(&home);
    home.take_in();
    let mut agent = home.agent();
    let project = home.json(&["history", "show"])["sessions"][0]["project"].as_str().unwrap().to_owned();
    let call = json!({ "title": "Ledger", "content": text, "project": project });
    let id = agent.ok("mem_save", call).str("id").to_owned();
    let ask = |agent: &mut crate::support::Agent| {
        let asked = json!({ "query": "ledger listens on port", "type": "history", "project": project });
        let hits = agent.ok("mem_search", asked).list("hits").to_vec();
        assert!(hits.iter().all(|hit| hit.to_string().len() <= 400), "{hits:?}");
        let ids: Vec<Value> = hits.iter().map(|hit| hit["id"].clone()).collect();
        (ids, hits.into_iter().find(|hit| !hit["old"].is_null()))
    };
    let (before, marked) = ask(&mut agent);
    assert_eq!((before.len(), marked), (2, None));
    agent.ok("mem_update", json!({ "id": id, "content": "It listens on 6432." }));
    let (after, marked) = ask(&mut agent);
    assert_eq!(after, before, "a mark orders nothing");
    let marked = marked.unwrap();
    assert_eq!(marked["old"], json!(id));
    let exchange = marked["id"].as_str().unwrap();
    let read = agent.get(exchange);
    assert!(read["old"] == json!(id) && read.text.contains(text), "{read:?}");
    let shown = home.json(&["history", "show", "s-1"]);
    let old: Vec<&Value> = shown["exchanges"].as_array().unwrap().iter().map(|one| &one["old"]).collect();
    assert_eq!(old, [&json!(id), &Value::Null]);
    let said = format!("{exchange} says what no longer holds: see {id}");
    for args in [&["history", "show", "s-1"][..], &["history", "search", "ledger listens on port"]] {
        let finished = home.run(args);
        assert!(finished.stderr.contains(&said), "{args:?}: {finished:?}");
    }
}
