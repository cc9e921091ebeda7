//! The screens of `cerebro tui`, whole, over a real daemon; and the stream of calls that they show.

use std::time::Instant;

use cerebro::tui::Next;

use crate::support::transcripts::Claude;
use crate::support::{Home, Screens, Value, json, scaled, wait_for};

const WIDE: (u16, u16) = (200, 60);
const SMALL: (u16, u16) = (80, 24);

const WORDS: [&str; 12] = [
    "lease", "queue", "writer", "index", "socket", "daemon", "pump", "commit", "passage", "cache", "lock",
    "graph",
];
const KINDS: [&str; 6] = ["decision", "bugfix", "architecture", "pattern", "discovery", "preference"];

/// The id of the memory with a number.
fn id(number: usize) -> String {
    let digits = b"abcdefghijklmnopqrstuvwxyz234567";
    let digit = |n: u32| char::from(digits[number >> (5 * n) & 31]);
    format!("mmmmmmm{}", (0..5).rev().map(digit).collect::<String>())
}

fn moment(minutes: i64) -> String {
    let base: jiff::Timestamp = "2026-10-28T08:00:00Z".parse().unwrap();
    (base + jiff::SignedDuration::from_mins(minutes)).to_string()
}

/// The lines of an export with so many memories in so many sessions, two threads of them.
fn store(memories: usize, sessions: usize) -> Vec<Value> {
    let mut lines = Vec::new();
    let at = |session: usize| 1_440 * 24 * session as i64 / sessions as i64 + 7 * session as i64;
    for n in 0..sessions {
        lines.push(json!({
            "kind": "session", "id": format!("session-{n:03}"), "project": if n % 2 == 0 { "acme/payments" } else { "acme/web" },
            "agent": if n % 2 == 0 { "claude-code" } else { "codex" }, "directory": "/src/acme",
            "started_at": moment(at(n)), "seen_at": moment(at(n) + 50),
            "ended_at": (n + 1 < sessions).then(|| moment(at(n) + 50)),
            "end_reason": (n + 1 < sessions).then_some("ended"),
            "summary": format!("## Goal\n- Mend the {} of the {}\n\n## Accomplished\n- it **holds**\n", WORDS[n % 12], WORDS[(n * 5 + 3) % 12]),
            "follows": n.checked_sub(2).map(|n| format!("session-{n:03}")),
        }));
    }
    let mut edges = Vec::new();
    for n in 0..memories {
        let session = n * sessions / memories;
        let when = moment(at(session) + 1 + (n % 40) as i64);
        let (a, b, c) = (WORDS[n % 12], WORDS[(n * 7 + 1) % 12], WORDS[(n * 5 + 2) % 12]);
        let title = match n % 10 {
            3 => "日本語の題名 and a long tail of words that has to be cut somewhere".to_owned(),
            7 => "Cafe\u{301} \u{1b}[31mred\u{7} 🦀 👩‍👩‍👧 done".to_owned(),
            _ => format!("The {a} waits for the {b}"),
        };
        let content = format!(
            "What: the **{a}** no longer loses a `{b}_{n}`.\nWhy: two writers met at the {c}.\nWhere: src/{b}/mod.rs\n\n\
             ## Learned\n\n- read *before* write\n- measure first\n  - then again\n\n```rust\nlet {a} = {b}.take();\n```\n\n> said once\n\n\
             An escape \u{1b}[2J stays text.\n"
        );
        lines.push(json!({
            "kind": "memory", "id": id(n), "project": if session.is_multiple_of(2) { "acme/payments" } else { "acme/web" },
            "scope": "project", "type": KINDS[n % 6], "title": title, "content": content,
            "topic_key": (n == 1).then_some("bug/index"), "tags": ["acme"], "agent": "claude-code",
            "session": format!("session-{session:03}"), "revision": if n == 1 { 3 } else { 1 }, "duplicate_count": 0,
            "pinned": n % 17 == 5, "purged": false, "created_at": when, "updated_at": when, "last_seen_at": when,
            "deleted_at": (n % 23 == 11).then_some(&when),
        }));
        edges.push(json!({ "kind": "edge", "name": "CREATED_IN", "from": id(n), "to": format!("session-{session:03}"), "at": when }));
    }
    for number in [1, 2] {
        lines.push(json!({
            "kind": "revision", "memory": id(1), "revision": number, "project": "acme/payments", "scope": "project",
            "type": "bugfix", "title": format!("The index, try {number}"), "content": format!("Revision {number} said **this**."),
            "topic_key": "bug/index", "tags": [], "agent": "codex", "session": "session-000", "at": moment(number),
        }));
    }
    for n in 2..sessions {
        edges.push(json!({ "kind": "edge", "name": "FOLLOWS", "from": format!("session-{n:03}"), "to": format!("session-{:03}", n - 2), "at": moment(at(n)) }));
    }
    lines.extend(edges);
    lines
}

fn filled(memories: usize, sessions: usize) -> Home {
    let home = Home::new();
    home.import(&store(memories, sessions)).success();
    // The next daemon shows only the calls of the test.
    home.run(&["daemon", "stop"]).success();
    home
}

#[test]
fn every_screen_fits_a_small_terminal_and_a_large_one() {
    let home = filled(60, 8);
    for ((columns, rows), name) in [(SMALL, "small"), (WIDE, "wide")] {
        let mut screens = Screens::open(&home, columns, rows);
        screens.assert_golden(&format!("{name}-dashboard"));
        screens.press("2");
        screens.assert_golden(&format!("{name}-memories"));
        screens.press("<down><down>g");
        screens.assert_golden(&format!("{name}-graph"));
        screens.press("3");
        screens.assert_golden(&format!("{name}-sessions"));
        screens.press("<enter><down>");
        screens.assert_golden(&format!("{name}-session"));
        screens.press("4");
        screens.assert_golden(&format!("{name}-live-empty"));
        screens.press("?");
        screens.assert_golden(&format!("{name}-help"));
    }
}

#[test]
fn the_scroll_bar_of_a_session_covers_no_letter() {
    let home = Home::new();
    let mut session = store(0, 1).remove(0);
    session["summary"] = json!("x".repeat(4_000));
    home.import(&[session]).success();
    for (columns, rows) in [SMALL, WIDE] {
        let mut screens = Screens::open(&home, columns, rows);
        screens.press("3");
        screens.press("<enter>");
        let shown = screens.text();
        let barred = shown.lines().filter_map(|line| line.trim_end().strip_suffix(['┃', '│']));
        let texts: Vec<&str> = barred.filter(|line| line.contains("xxx")).collect();
        assert!(texts.len() > 3 && texts.iter().all(|text| !text.ends_with('x')), "{shown}");
    }
}

#[test]
fn a_project_that_only_past_sessions_have_can_be_chosen() {
    let home = Home::new();
    for name in ["ferry", "harbour"] {
        Claude::new(name, &home.folder(name)).turn("Mend the auk", "Yes.").write(&home);
    }
    home.take_in();
    let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
    screens.press("3hpferry");
    assert!(screens.text().contains("1 past session"), "{}", screens.text());
    screens.press("<enter>");
    let shown = screens.text();
    assert!(shown.contains("Past sessions") && shown.contains("ferry-"), "{shown}");
    assert!(!shown.contains("harbour-"), "{shown}");
}

#[test]
fn a_search_finds_as_one_types_and_a_memory_is_read_whole() {
    let home = filled(60, 8);
    let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
    screens.press("2/writer queue");
    screens.assert_golden("search");
    screens.press("<enter><enter>");
    screens.assert_golden("memory-text");
    screens.press("<tab>");
    screens.assert_golden("memory-first-revision");
    screens.press("<tab>");
    screens.assert_golden("memory-relations");
    screens.press("<esc><esc>");
    assert!(screens.text().contains("1 of 57"), "{}", screens.text());
    screens.press("/bug index<enter>");
    let top = screens.text();
    assert!(top.contains("hits"), "{top}");
    screens.press("<esc>tbugf<enter>");
    let shown = screens.text();
    assert!(shown.contains("bugfix · 1 of") && !shown.contains(" pattern "), "{shown}");
    screens.press("x");
    assert!(screens.text().contains("deleted · none") || screens.text().contains("deleted · 1 of"));
}

#[test]
fn revisions_are_walked_and_earlier_texts_read() {
    let home = filled(12, 2);
    let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
    screens.press("2/The index waits<enter>");
    screens.press("<esc>");
    for _ in 0..12 {
        if screens.text().contains("r3") && screens.text().contains("revision 3") {
            break;
        }
        screens.press("<down>");
    }
    screens.press("<enter><tab>");
    assert!(screens.text().contains("Revision 2 said this."), "{}", screens.text());
    screens.press("<down>");
    assert!(screens.text().contains("Revision 1 said this."), "{}", screens.text());
    screens.assert_golden("memory-revisions");
}

#[test]
fn a_memory_is_pinned_deleted_and_restored() {
    let home = filled(12, 2);
    let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
    screens.press("2");
    let listed = home.json(&["list", "--all-projects", "--limit", "1"]);
    let newest = listed["memories"][0]["id"].as_str().unwrap().to_owned();
    screens.press("*");
    assert_eq!(home.json(&["get", &newest])["pinned"], true);
    assert!(screens.text().contains('★'), "{}", screens.text());
    screens.press("*");
    assert_eq!(home.json(&["get", &newest])["pinned"], Value::Null);
    screens.press("d");
    screens.assert_golden("confirm");
    screens.press("n");
    assert_eq!(home.json(&["get", &newest])["deleted_at"], Value::Null);
    screens.press("dy");
    assert!(home.json(&["get", &newest])["deleted_at"].is_string());
    screens.press("x");
    assert!(screens.text().contains("deleted · 1 of"), "{}", screens.text());
    screens.press("u");
    assert_eq!(home.json(&["get", &newest])["deleted_at"], Value::Null);
}

#[test]
fn an_edit_is_saved_on_the_revision_it_was_made_from() {
    let home = filled(12, 2);
    let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
    screens.press("2");
    let Next::Edit(mut draft) = screens.press("e") else { panic!("no edit:\n{}", screens.text()) };
    draft.content = "Edited by hand.".to_owned();
    let edit = |draft: &cerebro::tui::Draft| {
        cerebro::tui::Message::Edited(Ok(Some((draft.clone(), "/nowhere/edit.md".to_owned()))))
    };
    screens.take(edit(&draft));
    screens.settle();
    assert_eq!(home.json(&["get", &draft.id])["content"], "Edited by hand.");
    // Another edit of the same revision comes too late.
    draft.content = "Edited elsewhere.".to_owned();
    screens.take(edit(&draft));
    screens.settle();
    assert!(screens.text().contains("Somebody changed it meanwhile"), "{}", screens.text());
    assert_eq!(home.json(&["get", &draft.id])["content"], "Edited by hand.");
    screens.press("n");
    assert!(screens.text().contains("/nowhere/edit.md"), "{}", screens.text());
    screens.take(edit(&draft));
    screens.settle();
    screens.press("y");
    assert_eq!(home.json(&["get", &draft.id])["content"], "Edited elsewhere.");
}

#[test]
fn an_edit_may_begin_before_the_text_has_arrived() {
    let home = filled(60, 6);
    let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
    screens.press("2");
    assert_eq!(screens.type_fast("<down>e"), Next::Go, "the text cannot be here yet");
    let draft = wait_for("the edit to begin", || match screens.receive() {
        Next::Edit(draft) => Some(draft),
        _ => None,
    });
    assert!(draft.content.starts_with("What: "), "{draft:?}");
    // Another key in between cancels it.
    screens.type_fast("<down>e<up>");
    for _ in 0..3 {
        assert_eq!(screens.receive(), Next::Go);
    }
    screens.settle();
}

#[test]
fn calls_are_shown_as_they_happen_without_private_text() {
    let home = filled(12, 2);
    let mut screens = Screens::open(&home, WIDE.0, WIDE.1);
    screens.press("4");
    let mut agent = home.pump().project("acme/web").client("test-agent").start();
    agent.call("mem_session_start", json!({ "id": "a-session" }));
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let saved = agent.call(
        "mem_save",
        json!({ "title": "A new lesson", "content": format!("<private>my diary</private> and {secret} and the rest") }),
    );
    assert!(!saved.is_error, "{saved:?}");
    agent.call("mem_search", json!({ "query": "lesson" }));
    agent.call("mem_get_observation", json!({ "id": "zzzzzzzzzzzz" }));
    // The import that filled the store was a call too.
    screens.press("/test-agent<enter>");
    screens.wait_for("4 calls");
    let shown = screens.text();
    assert!(shown.contains("A new lesson") && shown.contains("created"), "{shown}");
    assert!(!shown.contains("diary") && !shown.contains("ghp_"), "{shown}");
    screens.assert_golden("live");
    screens.press("<space>");
    agent.call("mem_stats", json!({}));
    screens.press("/ failed<enter>");
    assert!(screens.text().contains("1 call"), "{}", screens.text());
    screens.press("<esc>/test-agent<enter>");
    assert!(screens.text().contains("paused") && screens.text().contains("4 calls"), "{}", screens.text());
    screens.press("<space>");
    screens.wait_for("5 calls");
    // The save was seen, so the dashboard counts it without being asked.
    screens.press("1");
    screens.wait_for("test-agent");
}

#[test]
fn a_daemon_that_goes_away_is_connected_to_again() {
    let home = filled(12, 2);
    let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
    screens.press("2");
    home.kill_daemon();
    screens.wait_for("reconnecting");
    screens.type_fast("*");
    assert!(screens.text().contains("not connected"), "{}", screens.text());
    screens.type_fast("<down>");
    home.run(&["daemon", "start"]).success();
    screens.wait_for("●");
    screens.settle();
    screens.press("3");
    assert!(screens.text().contains("claude-code"), "{}", screens.text());
}

#[test]
fn without_colour_everything_is_shown_by_marks() {
    let home = filled(12, 2);
    let mut plain = Screens::open_with(&home, SMALL.0, SMALL.1, false);
    for keys in ["1", "2", "<enter>", "<tab>", "<esc>", "3", "4", "5", "p", "<esc>", "?"] {
        plain.press(keys);
        assert!(!plain.is_coloured(), "{keys}");
    }
    let coloured = Screens::open_with(&home, SMALL.0, SMALL.1, true);
    assert!(coloured.is_coloured());
}

#[test]
fn no_stored_escape_reaches_the_terminal() {
    let home = filled(30, 2);
    let mut screens = Screens::open(&home, WIDE.0, WIDE.1);
    for keys in ["2", "<down><down><down>", "<enter>", "<esc>", "3", "<enter>", "5"] {
        screens.press(keys);
        let shown = screens.text();
        assert!(!shown.replace('\n', "").chars().any(char::is_control), "{keys}: {shown:?}");
    }
}

#[test]
fn a_window_of_any_size_is_drawn() {
    let home = filled(12, 2);
    for (columns, rows) in [(1, 1), (10, 3), (40, 10), (41, 11), (60, 15), (109, 24), (110, 12), (300, 100)] {
        let mut screens = Screens::open(&home, columns, rows);
        for keys in ["2", "<enter>", "<tab>", "<tab>", "<esc>", "g", "3", "<enter>", "4", "p", "<esc>", "?"] {
            screens.press(keys);
        }
    }
}

#[test]
fn a_project_keeps_the_beginning_of_its_name() {
    let home = Home::new();
    for columns in [100, 106, 110, 114, 120] {
        let shown = Screens::open(&home, columns, 20).text();
        let (_, beside) = shown.lines().next().unwrap().split_once("Inbox").unwrap();
        let name = beside.trim().trim_end_matches("● connected").trim().trim_end_matches('…');
        assert!("all projects".starts_with(name), "{columns}: {beside}");
        assert!(columns < 120 || !name.is_empty(), "there is room for it: {beside}");
    }
}

#[test]
fn a_long_list_scrolls_without_waiting_for_the_store() {
    let total = scaled(5_000).max(700);
    let home = filled(total, 8);
    let live = home.json(&["stats"])["memories"]["live"].as_u64().unwrap() as usize;
    let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
    screens.press("2");
    let comma = |n: usize| if n < 1_000 { n.to_string() } else { format!("{},{:03}", n / 1_000, n % 1_000) };
    let last = format!("{} of {}", comma(live), comma(live));
    wait_for("the end of the list", || {
        screens.press("<end>");
        screens.text().contains(&last).then_some(())
    });
    screens.press("<home>");
    let start = Instant::now();
    for _ in 0..200 {
        screens.type_fast("<pagedown>");
    }
    let each = start.elapsed() / 200;
    assert!(each.as_millis() < 50, "{each:?} for a page");
    screens.settle();
    assert!(!screens.text().contains('⋯'), "{}", screens.text());
}

#[test]
fn screens_without_a_terminal_are_refused_with_a_message() {
    let home = Home::new();
    let refused = home.run(&["tui"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("terminal") && refused.stderr.contains("hint:"), "{refused:?}");
    assert_eq!(home.run(&["tui", "--json"]).code(), 2);
}

#[test]
fn the_stream_of_calls_is_for_people_and_waits_within_a_bound() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.call("mem_stats", json!({}));
    assert!(agent.request("tools/call", json!({ "name": "op_live", "arguments": {} })).is_err());
    let shown = wait_for("the call in the stream", || {
        let mut screens = Screens::open(&home, SMALL.0, SMALL.1);
        screens.press("4");
        screens.text().contains("stats").then(|| screens.text())
    });
    assert!(shown.contains("test-agent"), "{shown}");
}
