//! Corrected texts in an import: as personal ones, inside longer texts, and in whatever wraps them.

use crate::support::{AGENTS_MAY_PURGE, Agent, Home, Value, json, memory_line};

const TITLE: &str = "Upload retries";
const TEXT: &str =
    "The deploy job retries uploads 17 times because the storage answers \"slow down\" under load";

/// The text among others and in wrappers.
fn wrapped(text: &str) -> Vec<String> {
    vec![
        format!("What: {text}"),
        format!("**What**: {text}\n**Where**: src/upload.rs"),
        format!("## What\n\n{text}"),
        format!("<p>{text}</p>"),
        format!("<ul><li>One more thing to say</li><li>{text}</li></ul>"),
        format!("[{text}](https://example.com/a)"),
        format!("1. {text}"),
        format!("- looked at the dashboards\n- {text}\n- nothing else"),
        format!("We looked at the dashboards.\n\n> {text}\n\nNothing else was decided."),
        format!("# {text}\n\nWe looked at the dashboards."),
        format!("Notes of Monday. {text}. Nothing else was decided."),
        format!("2026-11-01: {text}"),
        format!("[2026-11-01 10:30] {text}"),
        format!("- [x] {text}"),
        format!("1) {text}"),
        format!("Note that {text}"),
        format!("{text} (see #12)."),
        format!("{text}. {text}."),
        json!(text).to_string(),
        json!({ "kind": "fact", "text": text }).to_string(),
        serde_json::to_string_pretty(&json!([{ "text": text }])).unwrap(),
        format!("rule: {}", json!(text)),
        format!("> **{text}**"),
        format!("_{text}_"),
        format!("```text\n{text}\n```"),
        format!("| n | what |\n|---|---|\n| 1 | {text} |"),
        format!("<memory id=\"7\">{text}</memory>"),
        text.replace(' ', "\u{a0}"),
        text.replace('o', "o\u{200b}"),
        text.replace("17", "１７").replace("18", "１８"),
        text.replace('"', "”"),
        text.replace('"', "&#x22;"),
        text.replacen('"', "&ldquo;", 1).replace('"', "&rdquo;"),
        format!("{TITLE}: {text}"),
        format!("- **{TITLE}** — {text}"),
        format!("🚀 {text}"),
        format!("👩🏽‍💻 {text}"),
        format!("User: {text}"),
        format!("**Assistant**: {text}"),
        format!("The user said: {text}"),
        format!("Also, {text}"),
        format!("FYI - {text}"),
        format!("{text}[^1]"),
        format!("{text} [2]."),
        format!("// {}", text.replace(" because", "\n// because")),
        format!("rule: '{text}'"),
        format!("id,text\n7,\"{}\",done", text.replace('"', "\"\"")),
        format!("rule = {} # so it is", json!(text)),
        format!("INSERT INTO notes VALUES (7, '{text}');"),
        json!({ "payload": json!({ "text": text }).to_string(), "n": "x" }).to_string(),
        text.replace(' ', "%20").replace('"', "%22"),
        text.replace('"', "=22").replace(" because", "=\n because"),
        text.replace('"', "").replace(' ', "_"),
        format!("/*\n * {}\n */", text.replace(" because", "\n * because")),
        format!("(b) {text} (2026-11-01)"),
    ]
}

/// Imports memories with these titles and contents; returns those that were let in.
fn let_in(home: &Home, name: &str, scope: &str, texts: &[(String, String)]) -> Vec<String> {
    let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
    let line = |(n, (title, content)): (usize, &(String, String))| {
        let id = format!("{name:a<9}{}{}{}", &scope[1..2], letter(n / 26), letter(n));
        let mut line = memory_line(&id, title, content);
        line["scope"] = json!(scope);
        line["project"] = json!(if scope == "personal" { "" } else { "demo" });
        line
    };
    let lines: Vec<Value> = texts.iter().enumerate().map(line).collect();
    let before: Vec<Value> = home.export();
    home.import(&lines);
    let memories =
        home.export().into_iter().filter(|line| line["kind"] == "memory" && !before.contains(line));
    memories
        .map(|line| format!("{}: {}", line["title"].as_str().unwrap(), line["content"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_correction_in_an_option_a_path_or_the_case_holds_and_leaves_the_right_text_alone() {
    let home = Home::new();
    let mut agent = home.agent();
    let say = |what: &str| {
        format!("The documented rule of the nightly deploy job in our team is {what}, as all know")
    };
    let pairs = [
        ("git branch -D topic", "git branch -d topic"),
        ("secrets in .env", "secrets in env"),
        ("config in ~/app.toml", "config in /app.toml"),
        ("lint *.rs", "lint **/*.rs"),
        ("at most 232 rows", "at most 2³² rows"),
        ("10 MB a second", "10 Mb a second"),
        ("getUserById", "getUserByID"),
        ("trend ▲ 5", "trend ▼ 5"),
    ];
    for (n, (old, new)) in pairs.iter().enumerate() {
        let id = agent.save(&format!("Rule {n}"), &say(old));
        agent.ok("mem_update", json!({ "id": id, "content": say(new) }));
    }
    let texts = |pick: fn(&(&str, &str)) -> String| entitled(&pairs.iter().map(pick).collect::<Vec<_>>());
    let old = texts(|(old, _)| {
        format!("The documented rule of the nightly deploy job in our team is {old}, as all know")
    });
    assert_eq!(let_in(&home, "old", "project", &old), [""; 0]);
    // The other way round, only the text that was said first is kept out.
    let other = Home::new();
    let mut agent = other.agent();
    for (n, (old, _)) in pairs.iter().enumerate() {
        let id = agent.save(&format!("Rule {n}"), &say(old));
        agent.ok(
            "mem_update",
            json!({ "id": id, "content": "See the handbook of this month for the whole of it." }),
        );
    }
    let new = texts(|(_, new)| {
        format!("The documented rule of the nightly deploy job in our team is {new}, as all know")
    });
    let expected = new.iter().filter(|(_, text)| !text.contains("getUserByID")).count();
    assert_eq!(let_in(&other, "new", "project", &new).len(), expected);
}

#[test]
fn a_correction_of_an_accent_holds_and_a_text_without_accents_is_the_same() {
    let home = Home::new();
    let mut agent = home.agent();
    let say =
        |what: &str| format!("Die Regel {what} den Ablauf der Nacht gilt im ganzen Team, so steht es hier");
    let id = agent.save("Regel", &say("fur"));
    agent.ok("mem_update", json!({ "id": id, "content": say("für") }));
    assert_eq!(let_in(&home, "old", "project", &entitled(&[say("fur")])), [""; 0]);
    agent.ok("mem_update", json!({ "id": id, "content": "Siehe das Handbuch dieses Monats." }));
    let forms = entitled(&[say("für"), say("fu\u{308}r"), say("FÜR").to_uppercase(), say("fur")]);
    assert_eq!(let_in(&home, "gone", "project", &forms), [""; 0]);
    assert_eq!(let_in(&home, "other", "project", &entitled(&[say("nicht für"), say("über")])).len(), 2);
}

#[test]
fn a_short_text_does_not_come_back_behind_its_title() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Ledger port", "It is 5432.");
    agent.ok("mem_update", json!({ "id": id, "content": "It is 6432." }));
    let texts = [
        "Ledger port: it is 5432.",
        "# Ledger port\n\nIt is 5432.",
        "We met.\n\nLedger port – it is 5432.\n\nThat is all.",
        "{\"note\": \"Ledger port: it is 5432\"}",
    ];
    let texts = texts.map(str::to_owned);
    assert_eq!(let_in(&home, "short", "project", &entitled(&texts)), [""; 0]);
    let others = ["It is 5432.", "Gateway port: it is 5432.", "Ledger port: it is 6432."].map(str::to_owned);
    assert_eq!(let_in(&home, "others", "project", &entitled(&others)).len(), 3);
}

#[test]
fn a_text_that_holds_again_is_let_in_behind_its_title_too() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Lynx count", "It is ten in the park.");
    for content in ["It is nine in the park.", "It is ten in the park."] {
        agent.ok("mem_update", json!({ "id": id, "content": content }));
    }
    let restored = agent.save("Elk count", "It is six in the park.");
    agent.ok("mem_delete", json!({ "id": restored }));
    home.run(&["restore", &restored]).success();
    let texts =
        ["Lynx count: It is ten in the park.", "Elk count: It is six in the park."].map(str::to_owned);
    assert_eq!(let_in(&home, "again", "project", &entitled(&texts)).len(), 2);
    let no_more = ["Lynx count: It is nine in the park.".to_owned()];
    assert_eq!(let_in(&home, "nomore", "project", &entitled(&no_more)), [""; 0]);
    let listed = home.json(&["tombstones"]);
    let held: Vec<&Value> = listed["tombstones"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert!(
        held.iter().all(|held| **held == json!(id)),
        "nothing is held against what was restored: {listed}"
    );
}

#[test]
fn a_memory_that_only_got_another_title_holds_nothing_against_its_text() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save(TITLE, TEXT);
    agent.ok("mem_update", json!({ "id": id, "title": "Uploads are retried" }));
    let behind = [format!("{TITLE}: {TEXT}"), format!("We met.\n\n# {TITLE}\n\n{TEXT}")];
    assert_eq!(let_in(&home, "retitled", "project", &entitled(&behind)).len(), 2);
}

#[test]
fn a_text_of_several_sentences_does_not_come_back_inside_a_longer_one() {
    let home = Home::new();
    let mut agent = home.agent();
    let text = "**What**: the ledger listens on 5432.\n**Why**: its gateway, e.g. of the north, needs it.\n\
                **Where**: src/ledger.rs";
    let id = agent.save("Ledger", text);
    agent.ok("mem_update", json!({ "id": id, "content": "See the handbook of this month." }));
    let longer = |text: &str| {
        entitled(&[
            format!("We met on Monday.\n{text}\nNothing else was decided."),
            format!("## Notes\n\n- met on Monday\n\n{text}\n\nNothing else."),
            json!({ "from": "elsewhere", "content": format!("We met on Monday.\n{text}\nNothing else.") })
                .to_string(),
        ])
    };
    assert_eq!(let_in(&home, "same", "project", &longer(text)), [""; 0]);
    assert_eq!(let_in(&home, "other", "project", &longer(&text.replace("5432", "5433"))).len(), 3);
}

#[test]
fn a_revision_does_not_bring_back_what_another_memory_no_longer_says() {
    let (home, _agent) = without("corrected");
    let mut memory = memory_line("revisedaaaaa", "Uploads", "See the handbook of this month.");
    memory["revision"] = json!(2);
    let mut revision = memory.clone();
    let fields = [
        ("kind", json!("revision")),
        ("memory", json!("revisedaaaaa")),
        ("revision", json!(1)),
        ("title", json!(TITLE)),
        ("content", json!(TEXT)),
        ("at", memory["created_at"].clone()),
    ];
    for (name, value) in fields {
        revision[name] = value;
    }
    let said = home.import(&[memory, revision]);
    assert!(said.stderr.contains("no longer says") || said.stdout.contains("no longer says"), "{said:?}");
    assert!(!home.export().iter().any(|line| line["kind"] == "revision" && line["memory"] == "revisedaaaaa"));
}

fn entitled(texts: &[String]) -> Vec<(String, String)> {
    texts.iter().map(|text| ("Something else".to_owned(), text.clone())).collect()
}

/// A home in which the text no longer holds for this reason.
fn without(why: &str) -> (Home, Agent) {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let id = agent.save(TITLE, TEXT);
    match why {
        "corrected" => drop(agent.ok("mem_update", json!({ "id": id, "content": "A queue takes uploads." }))),
        "superseded" => {
            let newer = json!({ "title": "Queue", "content": "A queue takes uploads.", "supersedes": [id] });
            agent.ok("mem_save", newer);
        }
        "deleted" => drop(agent.ok("mem_delete", json!({ "id": id }))),
        _ => drop(agent.ok("mem_delete", json!({ "id": id, "hard": true }))),
    }
    (home, agent)
}

#[test]
fn a_corrected_text_comes_in_neither_inside_another_nor_in_wrappers_nor_as_a_personal_one() {
    for why in ["corrected", "superseded", "deleted", "purged"] {
        let (home, _agent) = without(why);
        let mut texts = entitled(&wrapped(TEXT));
        texts.push(("Something else".to_owned(), TEXT.to_owned()));
        texts.push((TEXT.to_owned(), "See the title.".to_owned()));
        for scope in ["project", "personal"] {
            assert_eq!(let_in(&home, "forms", scope, &texts), [] as [String; 0], "{why}, {scope}");
        }
        // Whatever differs in what it says comes in.
        let others: Vec<String> = [
            TEXT.replace("17", "18"),
            TEXT.replace("retries", "does not retry"),
            TEXT.replace("storage", "storage-2"),
            format!("Before: {TEXT}"),
        ]
        .into_iter()
        .flat_map(|text| wrapped(&text))
        .collect();
        let count = others.len();
        assert_eq!(let_in(&home, "others", "project", &entitled(&others)).len(), count, "{why}");
        home.run(&["doctor"]).success();
    }
}

#[test]
fn a_text_that_somebody_says_as_a_personal_one_may_be_imported_too() {
    let (home, mut agent) = without("corrected");
    let texts = entitled(&[TEXT.to_owned()]);
    assert_eq!(let_in(&home, "before", "personal", &texts).len(), 0);
    // What the project corrected may be a rule of the person's, if somebody says so.
    agent.ok("mem_save", json!({ "title": "Everywhere", "content": TEXT, "scope": "personal" }));
    assert_eq!(let_in(&home, "after", "personal", &texts).len(), 1);
    assert_eq!(let_in(&home, "project", "project", &texts).len(), 0);
}

#[test]
fn what_a_correction_only_added_to_comes_in_inside_a_longer_text() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save(TITLE, TEXT);
    agent.ok(
        "mem_update",
        json!({ "id": id, "content": format!("{TEXT}. Since March it does so at night.") }),
    );
    let longer = entitled(&[format!("We met on Monday.\n\n{TEXT}\n\nNothing else was decided.")]);
    assert_eq!(let_in(&home, "longer", "project", &longer).len(), 1);
    let alone = entitled(&[TEXT.to_owned()]);
    assert_eq!(let_in(&home, "alone", "project", &alone).len(), 0);
}

#[test]
fn a_corrected_text_in_wrappers_is_refused() {
    let (_home, mut agent) = without("corrected");
    for text in
        [format!("**What**: {TEXT}"), format!("<p>{TEXT}</p>"), format!("[{TEXT}](https://example.com)")]
    {
        let refused = agent.refused("mem_save", json!({ "title": "Otherwise", "content": text }));
        assert!(refused.contains("revive"), "{refused}");
    }
    // A longer text of one's own may quote it.
    agent.save("Meeting", &format!("We met on Monday and no longer say this:\n\n{TEXT}\n\nNothing else."));
}

#[test]
fn a_summary_in_an_import_comes_without_what_no_longer_holds() {
    let (home, _agent) = without("corrected");
    let at = "2026-01-01T00:00:00Z";
    let summary = format!("## Done\n- {TEXT}\n- Looked at all of the dashboards\n");
    let session = json!({
        "kind": "session", "id": "elsewhere-1", "project": "demo", "agent": "other", "started_at": at, "seen_at": at,
        "ended_at": at, "summary": summary,
    });
    let mut memory = memory_line("summaryaaaaa", "Session summary", &summary);
    memory["type"] = json!("session_summary");
    memory["topic_key"] = json!("session/elsewhere-1/summary");
    let mut other = session.clone();
    other["id"] = json!("elsewhere-2");
    other["summary"] = json!(format!("## What\n\n{TEXT}\n"));
    home.import(&[session, other, memory]);
    let texts: Vec<String> = home
        .export()
        .iter()
        .filter_map(|line| line["summary"].as_str().or(line["content"].as_str()).map(str::to_owned))
        .filter(|text| text.contains("dashboards"))
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    let empty = home.export().into_iter().find(|line| line["id"] == "elsewhere-2").unwrap();
    assert_eq!(empty["summary"], Value::Null, "{empty}");
    assert!(texts.iter().all(|text| !text.contains("17 times")), "{texts:?}");
}

#[test]
fn a_merge_names_the_memories_that_say_what_the_other_project_corrected() {
    let (home, mut agent) = without("corrected");
    let stays = "The gateway of the northern office listens on port 5432 of its host.";
    let live = agent
        .ok("mem_save", json!({ "title": TITLE, "content": TEXT, "project": "other" }))
        .str("id")
        .to_owned();
    let gone = agent.ok("mem_save", json!({ "title": "Port", "content": stays, "project": "other" }));
    agent.ok("mem_delete", json!({ "id": gone["id"] }));
    let here = agent.save("Gateway", stays);
    agent.save("Another", "This one says what nobody corrected in either of the two.");
    let merged = home.run(&["projects", "merge", "other", "demo", "--yes", "--json"]).json();
    let mut again: Vec<&str> =
        merged["said_again"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let mut want = [&*live, &*here];
    again.sort_unstable();
    want.sort_unstable();
    assert_eq!(again, want, "{merged}");
    let again = home.run(&["projects", "merge", "demo", "third", "--yes", "--json"]).json();
    assert_eq!(again["said_again"], Value::Null, "of two projects: {again}");
}

#[test]
fn an_import_brings_no_deleted_copy_of_a_purged_text_and_no_edge_of_a_purged_memory() {
    let home = Home::with_config(AGENTS_MAY_PURGE);
    let mut agent = home.agent();
    let id = agent.save(TITLE, TEXT);
    agent.ok("mem_save", json!({ "title": "Now", "content": "They are retried once.", "supersedes": [id] }));
    let whole = home.export_text();
    agent.ok("mem_delete", json!({ "id": id, "hard": true }));
    let left = home.export_text();
    home.import_text(&whole);
    assert_eq!(home.export_text(), left);
    let mut copy = memory_line("deletedaaaaa", "Copy", TEXT);
    copy["deleted_at"] = copy["created_at"].clone();
    let imported = home.import(&[copy]);
    assert!(imported.stdout.contains(&format!("memory `{id}` said before it was purged")), "{imported:?}");
    assert_eq!(home.export_text(), left);
}
