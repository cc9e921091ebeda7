//! Input that no correct client sends: it gets a clear error or none, and never causes a crash or a loss.

use std::time::Duration;

use crate::support::{Agent, DEADLINE, Home, TOOLS, Value, json, scaled, wait_for};

/// The connection still serves, and the store still answers.
#[track_caller]
fn assert_alive(agent: &mut Agent) {
    let stats = agent.call("mem_stats", json!({}));
    assert!(!stats.is_error, "{stats:?}");
}

#[test]
fn lines_that_are_not_json_rpc_do_no_harm() {
    let home = Home::new();
    let mut agent = home.agent();
    let lines = [
        "",
        "   ",
        "hello",
        "{",
        "}",
        "[]",
        "[1,2]",
        "null",
        "42",
        "\"text\"",
        "{}",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"1.0\",\"id\":900,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":901,\"method\":5}",
        "{\"jsonrpc\":\"2.0\",\"id\":902,\"method\":\"tools/call\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":903,\"method\":\"tools/call\",\"params\":{\"name\":5}}",
        "{\"jsonrpc\":\"2.0\",\"id\":904,\"result\":{}}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\x\"}",
        "Content-Length: 20",
        "{\"jsonrpc\":\"2.0\",\"id\":905,\"method\":\"ping\"} trailing",
    ];
    for line in lines {
        agent.send_raw(line);
        assert!(agent.request("ping", json!({})).is_ok(), "after {line:?}");
    }
    agent.try_send_bytes(b"\xff\xfe\x00\x80 not UTF-8\n").unwrap();
    agent.try_send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":906,\"method\":\"p\xc3\x28ng\"}\n").unwrap();
    agent.try_send_bytes("[".repeat(100_000).as_bytes()).unwrap();
    agent.try_send_bytes(b"\n").unwrap();
    assert_alive(&mut agent);
}

#[test]
fn a_broken_line_is_answered_as_one() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.send_raw("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":");
    // The daemon may announce a change meanwhile.
    let mut messages = std::iter::repeat_with(|| agent.message(DEADLINE).unwrap());
    let answer = messages.find(|message| message.get("method").is_none()).unwrap();
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    assert!(answer["id"].is_null(), "{answer}");
}

#[test]
fn half_a_line_before_the_end_of_input_is_ignored() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Before the half line", "Kept.");
    agent
        .try_send_bytes(br#"{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"mem_sa"#)
        .unwrap();
    assert!(agent.hang_up(), "the pump leaves cleanly");
    let mut other = home.agent();
    assert_eq!(other.get(&id)["content"], "Kept.");
}

#[test]
fn a_line_in_small_pieces_is_one_line() {
    let home = Home::new();
    let mut agent = home.agent();
    let line = "{\"jsonrpc\":\"2.0\",\"id\":500,\"method\":\"tools/call\",\"params\":{\"name\":\"mem_save\",\
                \"arguments\":{\"title\":\"In pieces 語🦉\",\"content\":\"Cut inside characters.\"}}}\r\n";
    for piece in line.as_bytes().chunks(3) {
        agent.try_send_bytes(piece).unwrap();
    }
    let saved = agent.answer(500).unwrap();
    let id = saved["structuredContent"]["id"].as_str().unwrap_or_else(|| panic!("{saved}")).to_owned();
    assert_eq!(agent.get(&id)["title"], "In pieces 語🦉");
}

#[test]
fn a_line_of_20_mb_is_refused_and_the_next_is_served() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("Before the flood", "Kept.");
    let text = "x".repeat(20 * 1024 * 1024);
    // Clients differ in whether they write the id first or last.
    for flood in [
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":700,\"method\":\"tools/call\",\"params\":{{\"name\":\"{text}\"}}}}"
        ),
        format!(
            "{{\"method\":\"tools/call\",\"params\":{{\"name\":\"{text}\"}},\"jsonrpc\":\"2.0\",\"id\":700}}"
        ),
    ] {
        agent.send_raw(&flood);
        let refusal = agent.answer(700).unwrap_err();
        assert!(refusal.code == -32600 && refusal.message.contains("4194304"), "{refusal:?}");
    }
    let flood = agent.send("mem_save", json!({"title": "Flood", "content": text}));
    assert!(agent.answer(flood).is_err());
    let ping = agent.send_request("ping", json!({}));
    assert!(agent.answer(ping).is_ok());
    assert_eq!(agent.get(&id)["content"], "Kept.");
    assert_eq!(agent.search("flood"), [id], "it was stored");
}

/// Redacting megabytes of what looks like secrets takes seconds, in which other agents would wait.
#[test]
fn a_text_that_no_field_has_room_for_is_refused_before_it_is_redacted() {
    let home = Home::new();
    let mut agent = home.agent();
    let long = "password=".repeat(400_000);
    for (tool, arguments) in [
        ("mem_save", json!({"title": "t", "content": long})),
        ("mem_save", json!({"title": long, "content": "c"})),
        ("mem_save", json!({"title": "t", "content": "c", "project": long})),
        ("mem_search", json!({"query": long})),
        ("mem_get_observation", json!({"id": long})),
    ] {
        let begun = std::time::Instant::now();
        let refusal = agent.refused(tool, arguments);
        assert!(refusal.contains("3600000 bytes"), "{refusal}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{tool}: {:?}", begun.elapsed());
    }
    assert_alive(&mut agent);
}

#[test]
fn ten_thousand_calls_sent_at_once_are_all_answered() {
    let home = Home::new();
    let mut agent = home.agent();
    let saved = agent.save("Asked for often", "The same answer each time.");
    let mut sent = Vec::new();
    let count = scaled(10_000);
    for n in 0..count {
        sent.push(match n % 4 {
            0 => agent.send_request("ping", json!({})),
            1 => agent.send("mem_search", json!({"query": "asked often", "limit": 1})),
            2 => agent.send("mem_get_observation", json!({"id": saved})),
            _ => agent.send("mem_delete", json!({"id": "nonsense"})),
        });
    }
    for (n, id) in sent.into_iter().enumerate() {
        let result = agent.answer_within(id, Duration::from_secs(120)).unwrap_or_else(|e| panic!("{e:?}"));
        match n % 4 {
            0 => assert_eq!(result, json!({})),
            1 => assert_eq!(result["structuredContent"]["hits"][0]["id"], saved, "{result}"),
            2 => assert_eq!(result["structuredContent"]["id"], saved, "{result}"),
            _ => assert_eq!(result["isError"], true, "{result}"),
        }
    }
}

#[test]
fn a_client_that_vanishes_during_a_call_disturbs_nobody() {
    let home = Home::new();
    let mut witness = home.agent();
    for round in 0..10 {
        let mut agent = home.agent();
        for n in 0..20 {
            agent.send(
                "mem_save",
                json!({"title": format!("Vanishing {round} {n}"), "content": "Perhaps kept."}),
            );
        }
        drop(agent);
        assert_alive(&mut witness);
    }
    let status = wait_for("the daemon to notice that the clients left", || {
        let status = home.json(&["daemon", "status"]);
        status["clients"].as_u64().is_some_and(|n| n <= 2).then_some(status)
    });
    assert!(status["pid"].is_u64(), "{status}");
    let found = witness.ok("mem_search", json!({"query": "vanishing", "limit": 50}));
    for id in found.ids("hits") {
        assert_eq!(witness.get(&id)["content"], "Perhaps kept.", "half a memory");
    }
}

/// Texts that are code in some language on the way, or difficult for some layer.
fn hard_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "'; REMOVE TABLE memory; --",
        "\"; DELETE memory; //",
        "`; REMOVE DATABASE main; `",
        "⟩; REMOVE TABLE memory; ⟨",
        "{{ 7 * 7 }}",
        "${HOME}",
        "$title",
        "memory:⟨abc⟩",
        "type::thing('memory', 'x')",
        "<future> { 1 }",
        "fn::evil()",
        "/* comment",
        "-- comment",
        "title:x AND content:y",
        "content:[a TO z]",
        "(((",
        "+must -not",
        "fuzzy~2^5",
        "wild*card?",
        "\"unclosed",
        "\\",
        "\\u0000",
        "%s%n%x",
        "../../etc/passwd",
        "<script>alert(1)</script>",
        "null",
        "NONE",
        "true",
        "d'2026-01-01T00:00:00Z'",
        "r\"memory:x\"",
        "u'018e'",
        "1e309",
        "NaN",
        "مرحبا بالعالم",
        "שלום \u{202e}abc\u{202c}",
        "👩‍👩‍👧‍👦🏳️‍🌈",
        "Z̷a̶l̸g̵o̶ ţ̷e̸x̵t",
        "ﷺ",
        "\u{feff}bom",
        "\u{200b}zero width",
        "İstanbul ǅ ß",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("e\u{301}".repeat(30));
    texts
}

#[test]
fn difficult_texts_round_trip_in_every_field() {
    let home = Home::new();
    let mut agent = home.agent();
    for (n, text) in hard_texts().into_iter().enumerate() {
        let project = format!("p{n} {text}");
        let saved = agent.ok(
            "mem_save",
            json!({
                "title": format!("T {text}"), "content": format!("C {text} c"), "tags": [format!("g {text}")],
                "topic_key": format!("config/{n} {text}"), "session_id": format!("s {text}"), "project": project,
            }),
        );
        let whole = agent.get(saved.str("id"));
        assert_eq!(whole["title"], format!("T {text}"), "{whole:?}");
        assert_eq!(whole["content"], format!("C {text} c"), "{whole:?}");
        assert_eq!(whole["tags"], json!([format!("g {text}")]), "{whole:?}");
        assert_eq!(whole.session(), format!("s {text}"), "{whole:?}");
        for (tool, arguments) in [
            ("mem_search", json!({"query": text, "all_projects": true})),
            (
                "mem_search",
                json!({"query": format!("T {text}"), "project": project, "tags": [text], "type": text}),
            ),
            ("mem_get_observation", json!({"id": text})),
            ("mem_search", json!({"query": "x", "cursor": text})),
            ("mem_search", json!({"query": "x", "since": text, "scope": text})),
            ("mem_save_prompt", json!({"content": text, "session_id": format!("s {text}")})),
            ("mem_suggest_topic_key", json!({"title": text, "content": text, "type": text})),
            ("mem_context", json!({"project": project})),
            (
                "mem_session_start",
                json!({"id": format!("s {text}"), "directory": text, "agent": text, "parent_id": text}),
            ),
            ("mem_session_summary", json!({"goal": text, "files": [text]})),
        ] {
            let reply = agent.call(tool, arguments);
            assert!(!reply.text.trim().is_empty(), "{tool} with {text:?}: {reply:?}");
        }
        let found = agent.ok("mem_search", json!({"query": format!("T {text}"), "project": project}));
        assert_eq!(
            found.ids("hits").first().map(String::as_str),
            Some(saved.str("id")),
            "{text:?}: {found:?}"
        );
    }
    assert_alive(&mut agent);
    let total = agent.ok("mem_search", json!({"query": "C c", "all_projects": true, "limit": 50}));
    assert!(total.list("hits").len() >= 40, "memories were lost: {}", total.list("hits").len());
}

#[test]
fn lone_surrogates_do_not_lose_the_rest() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.send_raw(
        r#"{"jsonrpc":"2.0","id":600,"method":"tools/call","params":{"name":"mem_save","arguments":{"title":"Lone \ud800 one","content":"Text \udfff end"}}}"#,
    );
    // Either the protocol layer refuses the line, or the text is kept with a replacement.
    let message = loop {
        let message = agent.message(DEADLINE).unwrap();
        if message.get("method").is_none() {
            break message;
        }
    };
    let id = message["result"]["structuredContent"]["id"].as_str().map(str::to_owned);
    match id {
        Some(id) => assert!(agent.get(&id).str("content").starts_with("Text "), "{message}"),
        None => assert!(message["error"].is_object() || message["result"]["isError"] == true, "{message}"),
    }
    assert_alive(&mut agent);
}

#[test]
fn a_word_of_256_kib_is_stored_and_does_not_break_search() {
    let home = Home::new();
    let mut agent = home.agent();
    for (title, c) in [("One word", "w"), ("One word of Chinese", "語"), ("One word of marks", "_")] {
        let word = c.repeat(256 * 1024 / c.len());
        let saved = agent.ok("mem_save", json!({"title": title, "content": word}));
        let read = agent.ok("mem_get_observation", json!({"id": saved["id"], "max_bytes": 262_144}));
        assert!(read["content"] == word, "{title} did not come back whole");
        assert!(agent.search(title).contains(&saved.str("id").to_owned()), "{title}");
    }
}

#[test]
fn ids_of_another_table_are_no_memories() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "abcdefghijkl"}));
    let prompt = agent.ok("mem_save_prompt", json!({"content": "A prompt"})).str("id").to_owned();
    for id in [
        "session:abcdefghijkl".to_owned(),
        "abcdefghijkl".to_owned(),
        format!("prompt:{prompt}"),
        prompt,
        "event:1".to_owned(),
        "memory:".to_owned(),
        "memory:memory:abcdefghijkl".to_owned(),
        "*".to_owned(),
    ] {
        for tool in ["mem_get_observation", "mem_timeline", "mem_delete"] {
            let refusal = agent.refused(tool, json!({"id": id}));
            assert!(refusal.contains("mem_search"), "{tool} {id}: {refusal}");
        }
    }
    assert_alive(&mut agent);
}

#[test]
fn malformed_arguments_of_every_kind_are_answered() {
    let home = Home::new();
    let mut agent = home.agent();
    let shapes = [
        json!(null),
        json!([]),
        json!("text"),
        json!(5),
        json!(true),
        json!({"id": {}}),
        json!({"id": [1]}),
        json!({"content": 7, "title": 8, "query": 9, "id": 10}),
        json!({"": ""}),
        json!({"limit": 1e300}),
        json!({"before": -1, "after": 1.5, "id": "x"}),
        json!({"offset": -1, "max_bytes": 0, "id": "x"}),
    ];
    for tool in TOOLS.iter().copied() {
        for shape in &shapes {
            let id = agent.send(tool, shape.clone());
            match agent.answer(id) {
                Ok(result) => {
                    let text = result["content"][0]["text"].as_str().unwrap_or_default();
                    assert!(!text.is_empty(), "{tool} {shape}: {result}");
                }
                Err(error) => assert!([-32602, -32600].contains(&error.code), "{tool} {shape}: {error:?}"),
            }
        }
        let id = agent.send_request("tools/call", json!({"name": tool}));
        let answer = agent.answer(id);
        assert!(answer.as_ref().is_ok_and(Value::is_object), "{tool} without arguments: {answer:?}");
    }
    assert_alive(&mut agent);
}
