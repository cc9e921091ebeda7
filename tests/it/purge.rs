//! Purged text leaves no bytes behind: the tests read the files of the home, as somebody with the disk would.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::hooks::report;
use crate::support::transcripts::Claude;
use crate::support::{AGENTS_MAY_PURGE, FaultyProvider, Home, alter, files, json, wait_for};

/// The files below a folder that hold any of the words, whatever their case.
pub fn holders(dir: &Path, words: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holders(&path, words));
            continue;
        }
        // A socket cannot be read.
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let held = words.iter().filter(|word| text.contains(**word));
        found.extend(held.map(|word| (path.clone(), (*word).to_owned())));
    }
    found
}

#[test]
fn after_a_purge_and_a_compaction_no_file_holds_the_text() {
    const WORDS: [&str; 6] =
        ["zebrafinch", "quokkalogue", "axolotlish", "narwhalesque", "okapi_engine", "tapirine"];
    let embedder = FaultyProvider::start();
    let home = Home::with_config(&format!("{AGENTS_MAY_PURGE}{}", embedder.config("")));
    let mut agent = home.agent();
    let kept = agent.save("The wombat stays", "Its text is kept in src/wombat.rs.");
    let saved = agent.ok(
        "mem_save",
        json!({
            "title": "A zebrafinch", "content": "The quokkalogue is in src/okapi_engine.rs.", "tags": ["axolotlish"],
            "topic_key": "bug/narwhalesque",
        }),
    );
    let id = saved["id"].as_str().unwrap().to_owned();
    agent.ok("mem_update", json!({ "id": id, "content": "A tapirine one in src/okapi_engine.rs." }));
    wait_for("the vectors", || {
        let worker = home.json(&["worker", "status"]);
        (worker["state"] == "idle" && worker["queue_depth"] == 0).then_some(())
    });
    for word in WORDS {
        assert!(!holders(home.data(), &[word]).is_empty(), "{word} can be found while it is there");
    }
    agent.ok("mem_delete", json!({ "id": id, "hard": true }));
    let compacted = home.json(&["compact"]);
    assert_eq!(compacted["outcome"], "compacted", "{compacted}");
    let left = |when: &str| {
        let found = holders(home.data(), &WORDS);
        assert!(found.is_empty(), "{when}: {found:?}");
    };
    left("while the daemon runs");
    home.run(&["daemon", "stop"]).success();
    left("after its end");
    assert_eq!(agent.get(&kept)["title"], "The wombat stays");
}

/// The names of all tables.
fn tables() -> BTreeSet<String> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    let texts = files(&schema).into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let named = |line: &str| line.strip_prefix("DEFINE TABLE ")?.split(' ').next().map(str::to_owned);
    let tables: BTreeSet<String> =
        texts.flat_map(|text| text.lines().filter_map(named).collect::<Vec<_>>()).collect();
    assert!(tables.len() > 25 && tables.contains("work_event"), "{tables:?}");
    tables
}

#[test]
fn no_field_of_a_purged_memory_is_left() {
    const WORDS: [&str; 11] = [
        "aardvarkine", "bilbyesque", "civetlike", "dhole_engine", "echidnaic", "fennecish", "gerenuk-folder",
        "hoatzinal", "ibexian", "jerboalike", "kinkajoulian",
    ];
    let home = Home::with_config(&format!("{AGENTS_MAY_PURGE}[work]\ntools = true\n"));
    let session = "s-purge";
    home.json(&["projects"]);
    let mut agent = home.pump().env("CLAUDE_CODE_SESSION_ID", session).client("claude-code").start();
    let other = agent.save("A neighbour", "It stays.");
    let first = json!({
        "title": "An echidnaic thing", "content": "It is fennecish.", "type": "hoatzinal", "tags": ["ibexian"],
        "kind": "prospective", "trigger": "path:gerenuk-folder", "topic_key": "bug/jerboalike",
    });
    let id = agent.ok("mem_save", first.clone()).str("id").to_owned();
    let second = json!({
        "id": id, "title": "Bilbyesque", "content": "Civetlike, in src/dhole_engine.rs.", "type": "aardvarkine",
        "tags": ["civetlike"],
    });
    agent.ok("mem_update", second.clone());
    agent.ok("mem_search", json!({ "query": "civetlike bilbyesque ibexian", "explain": true }));
    // The hook of the agent reports its calls, with all that was passed.
    for (tool, input) in [("mem_save", &first), ("mem_update", &second)] {
        let name = format!("mcp__cerebro__{tool}");
        let call =
            json!({ "tool_name": name, "tool_use_id": tool, "tool_input": input, "tool_response": input });
        report(&home, "claude-code", "PreToolUse", session, call.clone());
        report(&home, "claude-code", "PostToolUse", session, call);
    }
    // What a piece of work found becomes a memory.
    let work = agent.ok("work_begin", json!({ "title": "Look for it" })).str("work").to_owned();
    let found = json!({ "work": work, "event": "finding", "text": "The kinkajoulian one was found." });
    agent.ok("work_note", found);
    let done = agent.ok("work_note", json!({ "work": work, "event": "done" }));
    let finding = done.list("memories")[0].as_str().unwrap().to_owned();
    alter(
        &home,
        &format!(
            "RELATE memory:{other}->RELATES_TO->memory:{id} SET kind = 'extends', weight = 0.9, method = 'model', \
             evidence = 'both are civetlike and echidnaic', at = time::now();"
        ),
    );
    // Files may be packed, so the tables are read, too.
    let rows =
        |table: &str| home.json(&["sql", &format!("SELECT * FROM {table}")]).to_string().to_lowercase();
    let stored: String = tables().iter().map(|table| rows(table)).collect();
    for word in WORDS {
        let is_found = stored.contains(word) || !holders(home.data(), &[word]).is_empty();
        assert!(is_found, "{word} can be found while it is there");
    }
    for id in [&id, &finding] {
        agent.ok("mem_delete", json!({ "id": id, "hard": true }));
    }
    assert_eq!(home.json(&["compact"])["outcome"], "compacted");
    for table in tables() {
        let rows = rows(&table);
        let left: Vec<&str> = WORDS.into_iter().filter(|word| rows.contains(word)).collect();
        assert!(left.is_empty(), "{table}: {left:?} in {rows}");
    }
    let left = holders(home.data(), &WORDS);
    assert!(left.is_empty(), "{left:?}");
    home.run(&["daemon", "stop"]).success();
    let left = holders(home.data(), &WORDS);
    assert!(left.is_empty(), "after its end: {left:?}");
    home.run(&["doctor"]).success();
}

#[test]
fn a_trial_that_still_contains_the_text_is_named() {
    let home = Home::new();
    let id = home.agent().save("A pangolin", "Its text is pangolinesque.");
    let trial = home.json(&["whatif", "new", "before"])["home"].as_str().unwrap().to_owned();
    let deleted = home.json(&["delete", &id, "--hard", "--yes"]);
    assert_eq!(deleted["remains"]["trials"], json!([trial]), "{deleted}");
    let compacted = home.json(&["compact"]);
    assert_eq!(compacted["remains"]["trials"], json!([trial]), "{compacted}");
    // The answer is right: every file that contains the text is below the named folder.
    let held = holders(home.data(), &["pangolinesque"]);
    let is_below = |file: &Path| file.canonicalize().unwrap().starts_with(&trial);
    assert!(!held.is_empty() && held.iter().all(|(file, _)| is_below(file)), "{held:?}");
    let run = home.run(&["compact"]);
    assert!(run.stderr.contains("whatif drop before"), "{run:?}");
    let checks = home.json(&["doctor"]);
    let check = checks["checks"].as_array().unwrap().iter().find(|check| check["check"] == "trials").unwrap();
    assert!(check["state"] == "ok" && check["words"].as_str().unwrap().contains("before"), "{checks:#}");
    home.run(&["whatif", "drop", "before", "--yes"]).success();
    assert!(holders(home.data(), &["pangolinesque"]).is_empty());
    assert_eq!(home.json(&["compact"])["remains"]["trials"], json!([]));
}

#[test]
fn unreadable_backups_are_reported_and_not_taken_for_clean() {
    let home = Home::with_config("[backup]\ndir = \"config.toml\"\n");
    let id = home.agent().save("A pangolin", "Its text is pangolinesque.");
    let deleted = home.json(&["delete", &id, "--hard", "--yes"]);
    assert!(deleted["remains"]["unread"].as_str().unwrap().contains("config.toml"), "{deleted}");
    let ran = home.run(&["compact"]);
    assert!(ran.stderr.contains("is not known") && ran.stderr.contains("config.toml"), "{ran:?}");
}

#[test]
fn anchors_tombstones_and_plans_contain_no_purged_text() {
    const WORDS: [&str; 5] = ["zorilla_engine", "quagga_start", "pangolinish", "numbatlike", "fossaresque"];
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let folder = home.folder("place");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/zorilla_engine.rs"), "fn quagga_start() { 1 }\n").unwrap();
    let mut agent = home.pump().cwd(&folder).start();
    let text = "The pangolinish worker calls quagga_start in src/zorilla_engine.rs three times and waits for ten seconds in \
                between, and then it tells whoever asked that the numbatlike part could not be stored at all";
    let kept =
        agent.save("Fossaresque start", "It is told by the fossaresque one, before it is known better.");
    agent.ok("mem_update", json!({ "id": kept, "content": text }));
    wait_for("it is tied to the code", || (!agent.get(&kept)["anchors"].is_null()).then_some(()));
    let project = agent.get(&kept)["project"].clone();
    // An old memory that says the same is merged into it.
    let at = "2024-01-05T10:00:00.000001Z";
    let line = json!({
        "kind": "memory", "id": "aaaaaaaaaaaa", "project": project, "scope": "project", "type": "manual",
        "title": "Fossaresque start", "content": text.to_uppercase(), "agent": "test", "revision": 1,
        "duplicate_count": 0, "created_at": at, "updated_at": at, "last_seen_at": at,
    });
    home.import(&[line]).success();
    home.json(&["consolidate"]);
    let applied = home.json(&["consolidate", "--apply"]);
    assert_eq!((&applied["cycle"]["merge"], &applied["cycle"]["done"]), (&json!(1), &json!(2)), "{applied}");
    for table in ["anchor", "tombstone", "cycle"] {
        let rows = home.json(&["sql", &format!("SELECT VALUE id FROM {table}")]).to_string();
        assert!(rows.contains(table), "{rows}");
    }
    for word in WORDS {
        assert!(!holders(home.data(), &[word]).is_empty(), "{word} can be found while it is there");
    }
    for id in [kept.as_str(), "aaaaaaaaaaaa"] {
        agent.ok("mem_delete", json!({ "id": id, "hard": true }));
    }
    home.json(&["compact"]);
    home.run(&["daemon", "stop"]).success();
    let found = holders(home.data(), &WORDS);
    assert!(found.is_empty(), "{found:?}");
    home.run(&["doctor"]).success();
}

#[test]
fn a_purge_says_that_past_sessions_may_say_it_too() {
    let home = Home::new();
    let mut agent = home.agent();
    let [first, second] = ["First", "Second"].map(|title| agent.save(title, "The petrel flies at dawn."));
    let purge = |id: &str| home.run(&["delete", "--hard", "--yes", id]);
    assert!(!purge(&first).stderr.contains("history forget"));
    let prompt =
        agent.ok("mem_save_prompt", json!({ "content": "Note this: The petrel flies at dawn. Thanks." }));
    Claude::new("s-1", &home.work()).turn("Note that the petrel flies at dawn", "Noted.").write(&home);
    home.take_in();
    let said = purge(&second);
    assert!(said.stderr.contains("history forget"), "{said:?}");
    assert!(said.stderr.contains("1 prompt") && said.stderr.contains(prompt.str("id")), "{said:?}");
}
