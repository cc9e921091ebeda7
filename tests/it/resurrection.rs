//! Corrected texts, and every way in: without an explicit decision none returns, under no title and in no spelling.

use std::fs;

use crate::backup::backed_up;
use crate::cycle::untidy;
use crate::hooks::report;
use crate::support::{AGENTS_MAY_PURGE, Agent, Home, Value, json, memory_line};

const CONFIG: &str = "agent_hard_delete = true\n[work]\ntools = true\n";

/// The same text in other spellings.
const FORMS: [fn(&str) -> String; 11] = [
    str::to_owned,
    str::to_uppercase,
    |text| format!("  {}\n", text.replace(' ', " \n ")),
    |text| format!("«{}»!", text.trim_end_matches('.')),
    |text| text.replace("ledger", "led\u{e0067}\u{34f}ger"),
    |text| format!("- [x] 2026-11-01: {text}"),
    |text| format!("{text} {text}"),
    |text| json!({ "text": text }).to_string(),
    |text| format!("> **{}** (see #12)", text.trim_end_matches('.')),
    |text| format!("As discussed, {} — Ann", text.trim_end_matches('.')),
    |text| text.replace('e', "é"),
];

/// A corrected text and its place: its memory, with a title and a topic of its own, now says something else.
struct Corrected<'a> {
    door: &'a str,
    project: &'a str,
    id: &'a str,
    topic: &'a str,
    title: &'a str,
}

/// A way in without an explicit decision. It gets a text, and a number that is new each time.
type Way = fn(&Home, &mut Agent, &Corrected<'_>, usize, &str);

const AUTOMATIC: [(&str, Way); 9] = [
    ("import", import),
    ("adoption", adoption),
    ("note", |home, _, of, n, text| note(home, of, n, &format!("title: Something else {n}\n"), text)),
    ("topic-note", |home, _, of, n, text| {
        note(home, of, n, &format!("title: {}\ntopic_key: {}\n", of.title, of.topic), text);
    }),
    ("own-note", |home, _, of, n, text| {
        note(home, of, n, &format!("title: {}\nid: {}\n", of.title, of.id), text);
    }),
    ("other-note", |home, agent, of, n, text| {
        let other = agent.save(&format!("Another memory {n}"), &format!("About {n} other things."));
        note(home, of, n, &format!("title: Another memory {n}\nid: {other}\n"), text);
    }),
    ("compaction", |home, _, of, n, text| {
        let session = format!("c-{}-{n}", of.door);
        report(home, "claude-code", "PostCompact", &session, json!({ "compact_summary": text }));
    }),
    ("last-message", |home, _, of, n, text| {
        let session = format!("m-{}-{n}", of.door);
        report(home, "claude-code", "UserPromptSubmit", &session, json!({ "prompt": "Go on." }));
        report(home, "claude-code", "Stop", &session, json!({ "last_assistant_message": text }));
    }),
    ("finding", |_, agent, of, n, text| {
        let begun =
            agent.ok("work_begin", json!({ "title": format!("{} {n}", of.door), "key": n.to_string() }));
        for note in [json!({ "event": "finding", "text": text }), json!({ "event": "done" })] {
            let mut note = note;
            note["work"] = begun["work"].clone();
            agent.ok("work_note", note);
        }
    }),
];

fn import(home: &Home, _: &mut Agent, of: &Corrected<'_>, n: usize, text: &str) {
    let id = format!("imported{}aaa", ["a", "b", "c", "d"][n % 4]);
    let mut memory = memory_line(&id, "Something else", text);
    memory["project"] = json!(of.project);
    let imported: Value = serde_json::from_str(&home.import(&[memory]).stdout).unwrap();
    assert_eq!(imported["created"], 0, "{imported}");
}

fn adoption(home: &Home, _: &mut Agent, of: &Corrected<'_>, n: usize, text: &str) {
    let file = home.work().join(format!("{}-{n}.json", of.door));
    let name = format!("Something else {n}");
    let entity = json!({ "type": "entity", "name": name, "entityType": "fact", "observations": [text] });
    fs::write(&file, format!("{entity}\n")).unwrap();
    home.run(&["import", "--from", "server-memory", &file.to_string_lossy(), "--project", of.project]);
}

fn note(home: &Home, of: &Corrected<'_>, n: usize, front: &str, text: &str) {
    let folder = home.folder(&format!("{}-{n}", of.door));
    let front = format!("{front}project: {}\n", of.project);
    fs::write(folder.join("note.md"), format!("---\n{front}---\n\n{text}\n")).unwrap();
    home.run(&["import", &folder.to_string_lossy()]);
}

/// The words of a text, without characters other than letters and digits.
fn words(text: &str) -> String {
    let text = text.to_lowercase().replace('é', "e");
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// All present texts: those of live memories, and the summaries of sessions.
fn current_texts(home: &Home) -> Vec<String> {
    let lines = home.export();
    let live = lines.iter().filter(|line| line["deleted_at"].is_null());
    live.filter_map(|line| {
        line[if line["kind"] == "session" { "summary" } else { "content" }].as_str().map(|text| {
            let is_text = line["kind"] == "memory" || line["kind"] == "session";
            if is_text { words(text) } else { String::new() }
        })
    })
    .collect()
}

#[test]
fn no_automatic_way_in_revives_a_corrected_text() {
    let home = Home::with_config(CONFIG);
    // In the folder of the hooks, which have its project.
    let mut agent = home.pump().start();
    let project = agent.ok("mem_context", json!({})).str("project").to_owned();
    for (door, way) in AUTOMATIC {
        // Short, so that it is recognised under another title only because it names its subject.
        let text = format!("The {door} ledger listens on port 5432.");
        let (title, topic) = (format!("The {door} ledger"), format!("config/{door}"));
        let call = json!({ "title": title, "content": text, "topic_key": topic });
        let id = agent.ok("mem_save", call).str("id").to_owned();
        agent.ok("mem_update", json!({ "id": id, "content": format!("The {door} ledger is gone.") }));
        let of = Corrected { door, project: &project, id: &id, topic: &topic, title: &title };
        for (n, form) in FORMS.iter().enumerate() {
            way(&home, &mut agent, &of, n, &form(&text));
            let current = current_texts(&home);
            assert!(
                !current.iter().any(|said| said.contains(&words(&text))),
                "{door}, form {n}: {current:?}"
            );
        }
        let got = agent.get(&id);
        assert_eq!(
            (&got["revision"], got.str("content")),
            (&json!(2), &*format!("The {door} ledger is gone."))
        );
    }
    home.run(&["doctor"]).success();
}

#[test]
fn whoever_saves_a_text_that_no_longer_holds_is_warned_and_may_revive_it() {
    let home = Home::new();
    let mut agent = home.agent();
    let (title, text) = ("Ledger port", "The ledger listens on port 5432.");
    let id = agent.save(title, text);
    let other = agent.save("Gateway", "The gateway has no port yet.");
    agent.ok("mem_update", json!({ "id": id, "content": "It is 6432." }));
    for (n, form) in FORMS.iter().enumerate() {
        for title in [title, "Something else"] {
            let refused = agent.refused("mem_save", json!({ "title": title, "content": form(text) }));
            assert!(refused.contains(&id), "{n}: {refused}");
            let call = json!({ "id": other, "title": title, "content": form(text) });
            let refused = agent.refused("mem_update", call);
            assert!(refused.contains(&id) && refused.contains("revive"), "{n}: {refused}");
        }
    }
    let call = json!({ "id": other, "content": text, "revive": true });
    assert_eq!(agent.ok("mem_update", call)["outcome"], "updated");
    let revived =
        |home: &Home| home.events().iter().filter(|event| event["kind"] == "memory.revived").count();
    assert_eq!(revived(&home), 1);
    // The memory itself may return to that text.
    agent.ok("mem_update", json!({ "id": id, "content": text }));
    home.json(&["update", &other, "--content", "The gateway has port 1."]);
    let refused =
        home.run(&["update", &id, "--title", "Gateway", "--content", "The gateway has no port yet."]);
    assert!(refused.code() != 0 && refused.stderr.contains("--revive"), "{refused:?}");
    home.json(&[
        "update",
        &id,
        "--title",
        "Gateway",
        "--content",
        "The gateway has no port yet.",
        "--revive",
    ]);
}

#[test]
fn a_summary_that_a_hook_brings_comes_without_what_no_longer_holds() {
    let home = Home::new();
    let mut agent = home.pump().start();
    let text = "The ledger of the northern office listens on port 5432.";
    let added = "The gateway of the northern office listens on port 80.";
    let id = agent.save("Ledger", text);
    agent.ok("mem_update", json!({ "id": id, "content": "It is 6432." }));
    // What a correction only added to holds as before.
    let id = agent.save("Gateway", added);
    agent.ok("mem_update", json!({ "id": id, "content": format!("{added} It has no log.") }));
    let said = format!("## Found\n- {text}\n- {added}\n- The queue is slow. {text}\n");
    report(&home, "claude-code", "PostCompact", "s-1", json!({ "compact_summary": said }));
    report(&home, "claude-code", "UserPromptSubmit", "s-2", json!({ "prompt": "Go on." }));
    report(&home, "claude-code", "Stop", "s-2", json!({ "last_assistant_message": said }));
    let summaries: Vec<String> =
        current_texts(&home).into_iter().filter(|said| said.contains("the queue is slow")).collect();
    assert_eq!(summaries.len(), 3, "the memory, and both sessions: {summaries:?}");
    for summary in summaries {
        assert!(!summary.contains(&words(text)) && summary.contains(&words(added)), "{summary}");
    }
}

#[test]
fn a_text_without_blanks_between_its_words_is_known_under_another_title() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = "我们决定使用内存缓存来存储用户会话，因为数据库太慢了。";
    let id = agent.save("缓存策略", text);
    agent.ok("mem_update", json!({ "id": id, "content": "我们不再使用缓存。" }));
    assert!(agent.refused("mem_save", json!({ "title": "会话", "content": text })).contains(&id));
}

#[test]
fn a_moved_memory_brings_only_its_present_text() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = "The ledger of the northern office listens on port 5432 there.";
    let id = agent.save("Ledger", text);
    agent.ok("mem_update", json!({ "id": id, "project": "other", "content": "It is 6432." }));
    for project in ["demo", "other"] {
        let call = json!({ "title": "Ledger", "content": text, "project": project });
        assert!(agent.refused("mem_save", call).contains(&id), "{project}");
    }
    // Moving a memory does not correct it.
    let moved = agent.save("Gateway", "The gateway of the northern office listens on port 80 there.");
    agent.ok("mem_update", json!({ "id": moved, "project": "other" }));
    agent.save("Gateway", "The gateway of the northern office listens on port 80 there.");
}

#[test]
fn tombstones_hold_in_the_project_that_another_was_merged_into() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.pump().project("old-name").start();
    let texts = ["corrected", "purged"].map(|why| {
        let text = format!("The {why} ledger of the northern office listens on port 5432.");
        (agent.save(&format!("Port {why}"), &text), text)
    });
    agent.ok("mem_update", json!({ "id": texts[0].0, "content": "It is 6432." }));
    agent.ok("mem_delete", json!({ "id": texts[1].0, "hard": true }));
    home.run(&["projects", "merge", "old-name", "middle", "--yes"]).success();
    home.run(&["projects", "rename", "middle", "new-name"]).success();
    for (n, (id, text)) in texts.iter().enumerate() {
        let folder = home.folder(&format!("n{n}/new-name"));
        fs::write(folder.join("note.md"), format!("---\ntitle: Note\n---\n\n{text}\n")).unwrap();
        home.run(&["import", &folder.parent().unwrap().to_string_lossy()]);
        assert!(!current_texts(&home).contains(&words(text)), "{text}");
        let listed = home.json(&["tombstones"]);
        assert!(listed["tombstones"].to_string().contains(id), "{listed}");
    }
    let refused = home.run(&["save", "Note", &texts[0].1, "--project", "new-name"]);
    assert!(refused.code() != 0 && refused.stderr.contains(&texts[0].0), "{refused:?}");
    // The memory itself may be tagged, because its present text matches no tombstone.
    home.json(&["update", &texts[0].0, "--tag", "port"]);
}

#[test]
fn a_person_sees_tombstones_and_forgets_them() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = "The ledger of the northern office listens on port 5432.";
    let id = agent.save("Ledger", text);
    assert_eq!(home.json(&["tombstones"]), json!({ "tombstones": [], "notes": 0 }));
    agent.ok("mem_update", json!({ "id": id, "content": "It is 6432." }));
    agent.refused("mem_save", json!({ "title": "Ledger", "content": text }));
    let listed = home.json(&["tombstones"]);
    let tombstone = &listed["tombstones"][0];
    assert_eq!(
        (&tombstone["id"], &tombstone["why"], &tombstone["title"]),
        (&json!(id), &json!("corrected"), &json!("Ledger"))
    );
    assert_eq!((listed["tombstones"].as_array().map(Vec::len), &listed["notes"]), (Some(1), &json!(4)));
    assert_eq!(home.json(&["tombstones", "--forget", &id, "--yes"])["forgotten"], 4);
    assert!(home.events().iter().any(|event| event["kind"] == "tombstones.forgotten"));
    agent.ok("mem_save", json!({ "title": "Ledger", "content": text }));
    assert_eq!(home.json(&["tombstones", "--forget", &id, "--yes"])["forgotten"], 0);
}

#[test]
fn tombstones_are_derived_from_the_rows_of_a_backup() {
    let home = Home::new();
    let mut agent = home.agent();
    let texts = ["corrected", "superseded", "deleted", "said-again"].map(|why| {
        let text = format!("The {why} ledger of the northern office listens on port 5432.");
        (agent.save(&format!("Port {why}"), &text), text)
    });
    agent.ok("mem_update", json!({ "id": texts[0].0, "content": "It is 6432." }));
    let newer = json!({ "title": "Port now", "content": "Every port is 7432.", "supersedes": [texts[1].0] });
    agent.ok("mem_save", newer);
    agent.ok("mem_delete", json!({ "id": texts[2].0 }));
    agent.ok("mem_update", json!({ "id": texts[3].0, "content": "It is 6432 too." }));
    agent.ok("mem_save", json!({ "title": "Otherwise", "content": texts[3].1, "revive": true }));
    let (file, _) = backed_up(&home, &[]);

    let other = Home::new();
    other.run(&["restore", &file.to_string_lossy()]).success();
    let mut agent = other.agent();
    for (id, text) in &texts[..2] {
        let refused = agent.refused("mem_save", json!({ "title": "T", "content": text }));
        assert!(refused.contains(id), "{text}: {refused}");
    }
    let folder = other.folder("notes/demo");
    for (n, (_, text)) in texts.iter().enumerate() {
        fs::write(folder.join(format!("{n}.md")), format!("---\ntitle: Note {n}\n---\n\n{text}\n")).unwrap();
    }
    let imported: Value = serde_json::from_str(
        &other.run(&["import", &folder.parent().unwrap().to_string_lossy(), "--json"]).stdout,
    )
    .unwrap();
    assert_eq!(imported["created"], 1, "only what is said again: {imported}");
    // Tombstones that were forgotten stay forgotten.
    other.json(&["tombstones", "--forget", &texts[0].0, "--yes"]);
    // Also in a home that makes tombstones anew; what was corrected afterwards is known there.
    let later = "The forgotten ledger of the southern office listens on port 9432.";
    other.json(&["update", &texts[0].0, "--content", later]);
    other.json(&["update", &texts[0].0, "--content", "It is 6432 again."]);
    let (file, _) = backed_up(&other, &[]);
    let third = Home::new();
    third.run(&["restore", &file.to_string_lossy()]).success();
    third.json(&["save", "Once more", &texts[0].1, "--project", "demo"]);
    let refused = third.run(&["save", "Later", later, "--project", "demo"]);
    assert!(refused.code() != 0 && refused.stderr.contains(&texts[0].0), "{refused:?}");
    other.run(&["daemon", "stop"]).success();
    other.json(&["save", "Again", &texts[0].1, "--project", "demo"]);
    other.run(&["doctor"]).success();
}

#[test]
fn an_older_backup_reports_what_it_brings_back() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = "The ledger of the northern office listens on port 5432.";
    let id = agent.save("Ledger", text);
    let other = agent.save("Gateway", "The gateway of the northern office listens on port 80.");
    let (file, _) = backed_up(&home, &[]);
    agent.ok("mem_update", json!({ "id": id, "content": "It is 6432." }));
    let restored = home.json(&["restore", "--replace", &file.to_string_lossy()]);
    assert_eq!(restored["said_again"], json!([id]), "{restored}");
    // The person asked for it, so the text holds; but its tombstone stays.
    let mut agent = home.agent();
    assert_eq!(agent.get(&id).str("content"), text);
    let listed = home.json(&["tombstones"]);
    assert_eq!(listed["tombstones"][0]["id"], id, "{listed}");
    agent.ok("mem_update", json!({ "id": id, "tags": ["port"] }));
    let refused = agent.refused("mem_update", json!({ "id": other, "title": "Ledger", "content": text }));
    assert!(refused.contains(&id), "{refused}");
    home.run(&["doctor"]).success();
}

/// A home in which a consolidation merged the first memory into the second, which has been corrected since.
fn merged_and_corrected() -> (Home, String, String) {
    let (home, copy, stays) = (untidy(), "aaaaaaaaaaaa".to_owned(), "baaaaaaaaaaa".to_owned());
    home.json(&["consolidate", "--plan"]);
    home.json(&["consolidate", "--apply"]);
    home.json(&["update", &stays, "--content", "The upload worker gives up at once."]);
    (home, copy, stays)
}

/// Whether a memory is in the archive.
fn is_archived(home: &Home, id: &str) -> bool {
    let line = home.export().into_iter().find(|line| line["kind"] == "memory" && line["id"] == id).unwrap();
    line["archived_at"].is_string()
}

#[test]
fn whoever_takes_a_copy_of_a_corrected_text_out_of_the_archive_is_told() {
    let (home, copy, stays) = merged_and_corrected();
    for (command, back) in [("unarchive", "archive"), ("pin", "unpin")] {
        let told = home.json(&[command, &copy]);
        assert_eq!(
            (&told["noted"]["id"], &told["noted"]["why"]),
            (&json!(stays), &json!("corrected")),
            "{told}"
        );
        assert!(!is_archived(&home, &copy), "somebody wants it");
        // The notice comes once, and not for a memory that was not in the archive.
        assert_eq!(home.json(&[command, &copy])["noted"], Value::Null);
        home.json(&[back, &copy]);
        home.run(&["archive", &copy]).success();
        assert!(is_archived(&home, &copy));
    }
    let told = home.run(&["unarchive", &copy]);
    let words = format!("memory {stays} with this text was corrected");
    assert!(format!("{}{}", told.stdout, told.stderr).contains(&words), "{told:?}");
    // One that nobody corrected comes back without a word.
    let other = home.json(&["unarchive", "h2aaaaaaaaaa"]);
    assert_eq!((&other["outcome"], &other["noted"]), (&json!("unarchived"), &Value::Null), "{other}");
    home.run(&["doctor"]).success();
}

#[test]
fn no_update_of_its_tags_and_no_note_takes_a_copy_of_a_corrected_text_out_of_the_archive_unnoticed() {
    let (home, copy, stays) = merged_and_corrected();
    let refused = home.run(&["update", &copy, "--tag", "net2"]);
    assert!(refused.code() != 0 && refused.stderr.contains(&stays), "{refused:?}");
    let refused = home.agent().refused("mem_update", json!({ "id": copy, "tags": ["net2"] }));
    assert!(refused.contains(&stays) && refused.contains("revive"), "{refused}");
    let text = home.json(&["get", &copy])["content"].as_str().unwrap().to_owned();
    let folder = home.folder("notes/demo");
    let note = format!("---\nid: {copy}\ntitle: Upload\ntags: [net3]\nproject: demo\n---\n\n{text}\n");
    fs::write(folder.join("note.md"), note).unwrap();
    home.run(&["import", &folder.parent().unwrap().to_string_lossy()]);
    assert!(is_archived(&home, &copy));
    home.json(&["consolidate", "--undo"]);
    home.json(&["consolidate", "--plan"]);
    home.json(&["consolidate", "--apply"]);
    assert!(is_archived(&home, &copy));
    let revived = home.json(&["update", &copy, "--tag", "net2", "--revive"]);
    assert_eq!(
        (&revived["outcome"], &revived["noted"]["id"]),
        (&json!("updated"), &json!(stays)),
        "{revived}"
    );
    assert!(!is_archived(&home, &copy));
}

#[test]
fn a_deleted_memory_names_its_copies_in_the_archive() {
    let home = untidy();
    home.json(&["consolidate", "--plan"]);
    home.json(&["consolidate", "--apply"]);
    let deleted = home.json(&["delete", "baaaaaaaaaaa"]);
    assert_eq!((&deleted["outcome"], &deleted["copies"]), (&json!("deleted"), &json!(["aaaaaaaaaaaa"])));
    let told = home.json(&["unarchive", "aaaaaaaaaaaa"]);
    assert_eq!(told["noted"]["why"], "deleted", "{told}");
    // One that a person archived is a copy, too.
    let mut agent = home.agent();
    let (title, text) = ("Gateway", "The gateway of the northern office listens on port 80.");
    let copy = agent.save(title, text);
    home.json(&["archive", &copy]);
    let stays = agent.ok("mem_save", json!({ "title": title, "content": text, "type": "config" }));
    home.json(&["update", stays.str("id"), "--type", "manual"]);
    let deleted = home.run(&["delete", stays.str("id")]);
    let said = format!("{copy} still says so, in the archive");
    assert!(format!("{}{}", deleted.stdout, deleted.stderr).contains(&said), "{deleted:?}");
    // If both are deleted, neither is named.
    let both = home.run(&["delete", "caaaaaaaaaaa", &copy]);
    assert!(!both.stderr.contains("still says so"), "{both:?}");
}

#[test]
fn whoever_restores_a_memory_is_told_that_another_one_corrected_its_text() {
    let home = Home::new();
    let mut agent = home.agent();
    let (title, text) = ("Ledger", "The ledger of the northern office listens on port 5432.");
    let first = agent.save(title, text);
    agent.ok("mem_delete", json!({ "id": first }));
    let second = agent.save(title, text);
    agent.ok("mem_update", json!({ "id": second, "content": "It is 6432." }));
    let restored = home.json(&["restore", &first]);
    assert_eq!(
        (&restored["outcome"], &restored["noted"]["id"], &restored["noted"]["why"]),
        (&json!("restored"), &json!(second), &json!("corrected")),
        "{restored}"
    );
    // One that was only deleted comes back without a word.
    agent.ok("mem_delete", json!({ "id": second }));
    let restored = home.run(&["restore", &second]);
    assert!(!format!("{}{}", restored.stdout, restored.stderr).contains("with this text"), "{restored:?}");
}

#[test]
fn a_superseded_text_that_is_revived_is_a_memory_that_holds() {
    let home = Home::new();
    let mut agent = home.agent();
    let (title, text) = ("Ledger port", "The ledger listens on port 5432.");
    let old = agent.save(title, text);
    let new = json!({ "title": title, "content": "The ledger listens on port 6432.", "supersedes": [old] });
    agent.ok("mem_save", new);
    let revived = agent.ok("mem_save", json!({ "title": title, "content": text, "revive": true }));
    assert_eq!((&revived["outcome"], &revived["noted"]["id"]), (&json!("created"), &json!(old)));
    let found = agent.ok("mem_search", json!({ "query": "ledger port 5432" }));
    let of = |id: &Value| found["hits"].as_array().unwrap().iter().find(|hit| hit["id"] == *id).cloned();
    assert!(of(&revived["id"]).unwrap()["old"].is_null(), "{found:?}");
    assert!(!of(&json!(old)).unwrap()["old"].is_null(), "{found:?}");
}
