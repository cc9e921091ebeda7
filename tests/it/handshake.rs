//! The handshake of client and server, in both eras of the protocol.

use crate::support::{Agent, DEADLINE, Home, Value, json};

const INSTRUCTIONS_BYTES_MAX: usize = 2_000;

#[test]
fn every_older_version_is_supported() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let home = Home::new();
        let agent = home.pump().version(version).start();
        let greeting = &agent.greeting;
        assert_eq!(greeting["protocolVersion"], version, "{greeting}");
        assert_eq!(greeting["serverInfo"]["name"], "cerebro", "{greeting}");
        assert_eq!(greeting["serverInfo"]["version"], env!("CARGO_PKG_VERSION"), "{greeting}");
        assert!(greeting["capabilities"]["tools"].is_object(), "{greeting}");
    }
}

#[test]
fn a_version_that_initialize_cannot_have_gets_the_newest_that_it_can() {
    for asked in ["2026-07-28", "2099-01-01", "1999-01-01", "nonsense"] {
        let home = Home::new();
        let mut agent = home.pump().version(asked).start();
        let greeting = agent.greeting.clone();
        assert_eq!(greeting["protocolVersion"], "2025-11-25", "asked for {asked}: {greeting}");
        let tools = agent.request("tools/list", json!({})).unwrap();
        assert_eq!(tools["tools"].as_array().map(Vec::len), Some(13), "asked for {asked}: {tools}");
    }
}

#[test]
fn the_stateless_era_is_discovered_and_served() {
    let home = Home::new();
    let mut agent = home.pump().project("demo").modern().start();
    let greeting = agent.greeting.clone();
    let versions = greeting["supportedVersions"].as_array().cloned().unwrap_or_default();
    assert!(versions.contains(&json!("2026-07-28")), "{greeting}");
    assert_eq!(greeting["resultType"], "complete", "{greeting}");
    let server = &greeting["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "cerebro", "{greeting}");

    let tools = agent.request("tools/list", json!({})).unwrap();
    assert_eq!(tools["resultType"], "complete", "{tools}");
    assert!(tools["ttlMs"].is_u64() && tools["cacheScope"].is_string(), "{tools}");

    let id = agent.save("Stateless calls work", "No initialize was sent.");
    assert_eq!(agent.search("stateless calls"), [id]);
}

#[test]
fn a_request_of_an_unknown_later_version_is_refused_as_such() {
    let home = Home::new();
    let mut agent = home.pump().modern().start();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/list", "params": {"_meta": meta}});
    agent.send_raw(&request.to_string());
    let error = agent.answer(77).expect_err("2099-01-01 is not spoken");
    assert_eq!(error.code, -32022, "{error:?}");
}

#[test]
fn both_eras_see_the_same_tools_and_instructions() {
    let home = Home::new();
    let mut older = home.pump().start();
    let mut modern = home.pump().modern().start();
    assert_eq!(older.greeting["instructions"], modern.greeting["instructions"]);
    let older = older.request("tools/list", json!({})).unwrap();
    let modern = modern.request("tools/list", json!({})).unwrap();
    assert_eq!(older["tools"], modern["tools"]);
}

#[test]
fn instructions_are_short_and_begin_with_what_this_is() {
    let home = Home::new();
    let agent = home.pump().start();
    let instructions = agent.greeting["instructions"].as_str().unwrap_or_default();
    assert!(instructions.len() < INSTRUCTIONS_BYTES_MAX, "{} bytes: {instructions}", instructions.len());
    let first = instructions.split('.').next().unwrap_or_default().to_lowercase();
    assert!(first.contains("memory"), "the first sentence is: {first}");
    for tool in ["mem_search", "mem_save", "mem_context"] {
        assert!(instructions.contains(tool), "{tool} is not in: {instructions}");
    }
}

/// On a fresh home the database must still be created; the list does not wait for it.
#[test]
fn the_list_comes_before_the_first_call_can_be_served() {
    let home = Home::new();
    let mut agent = home.agent();
    let call = agent.send("mem_stats", json!({}));
    let list = agent.send_request("tools/list", json!({}));
    let first = next_answer(&mut agent);
    assert_eq!(first["id"], list, "the list came after the call: {first}");
    let stats = agent.reply(call);
    assert!(!stats.is_error, "{stats:?}");
}

fn next_answer(agent: &mut Agent) -> Value {
    loop {
        let message = agent.message(DEADLINE).unwrap();
        if message.get("method").is_none() {
            return message;
        }
    }
}

#[test]
fn ping_is_answered_at_any_time() {
    let home = Home::new();
    let mut agent = home.pump().silent();
    assert_eq!(agent.request("ping", json!({})), Ok(json!({})), "before initialize");
    agent.initialize("2025-11-25");
    assert_eq!(agent.request("ping", json!({})), Ok(json!({})), "after initialize");
}

#[test]
fn an_unknown_method_gets_a_protocol_error_and_the_connection_stays() {
    let home = Home::new();
    let mut agent = home.agent();
    let error = agent.request("memory/forget", json!({})).expect_err("no such method");
    assert_eq!(error.code, -32601, "{error:?}");
    let error = agent
        .request("tools/call", json!({"name": "mem_forget", "arguments": {}}))
        .expect_err("no such tool");
    assert_eq!(error.code, -32602, "{error:?}");
    agent.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/no_such_thing","params":{}}"#);
    assert_eq!(agent.request("ping", json!({})), Ok(json!({})));
}

#[test]
fn parameters_that_fit_no_request_are_refused_as_such() {
    let home = Home::new();
    for mut agent in [home.agent(), home.pump().modern().start()] {
        for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            let error = agent.request(list, json!({"cursor": "page-2"})).expect_err(list);
            assert!(error.code == -32602 && error.message.contains("page-2"), "{list}: {error:?}");
            assert!(agent.request(list, json!({"cursor": ""})).is_ok(), "{list}");
        }
        for method in ["tools/call", "prompts/get", "resources/read"] {
            let error = agent.request(method, json!({})).expect_err(method);
            assert_eq!(error.code, -32602, "{method}: {error:?}");
        }
    }
}

#[test]
fn a_string_id_comes_back_as_it_was() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.send_raw(r#"{"jsonrpc":"2.0","id":"a-7","method":"ping"}"#);
    let answer = next_answer(&mut agent);
    assert_eq!(answer["id"], "a-7", "{answer}");
}

#[test]
fn the_pump_leaves_when_its_input_ends() {
    let home = Home::new();
    let agent = home.agent();
    assert!(agent.hang_up(), "after a handshake");
    let agent = home.pump().silent();
    assert!(agent.hang_up(), "before a handshake");
}

#[test]
fn a_call_sent_just_before_the_input_ends_is_still_served() {
    let home = Home::new();
    let mut agent = home.agent();
    let call = agent.send("mem_save", json!({"title": "Last words", "content": "Saved before hanging up."}));
    agent.close_input();
    let saved = agent.answer(call).unwrap();
    let id = saved["structuredContent"]["id"].as_str().unwrap_or_default().to_owned();
    drop(agent);
    let mut other = home.agent();
    assert_eq!(other.get(&id).str("title"), "Last words");
}

#[test]
fn a_standalone_server_serves_the_same() {
    let home = Home::new();
    let mut agent = home.pump().arg("--standalone").project("demo").start();
    let id = agent.save("Standalone serves alone", "No daemon is started.");
    assert_eq!(agent.search("standalone"), [id.clone()]);
    assert_eq!(home.daemons(), Vec::<u32>::new(), "a daemon was started");
    assert!(agent.hang_up(), "it leaves cleanly");
    let mut agent = home.agent();
    assert_eq!(agent.get(&id).str("title"), "Standalone serves alone", "and leaves the store to the next");
}
