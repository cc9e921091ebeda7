//! Random input to one running server: texts round-trip, and nothing breaks it.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::support::{Home, TOOLS, Value, json, scaled};

fn config(cases: u32) -> Config {
    let cases = u32::try_from(scaled(cases as usize)).unwrap();
    Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() }
}

/// The text that the contract promises to keep: everything except control characters other than newline and tab.
fn kept(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Any JSON, not too deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z0-9 ,:\\[\\]\"-]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z]{1,6}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

const NAMES: [&str; 16] = [
    "id", "title", "content", "type", "project", "scope", "topic_key", "tags", "query", "limit", "since",
    "cursor", "before", "max_bytes", "session_id", "hard",
];

#[test]
fn any_text_round_trips() {
    let home = Home::new();
    let agent = RefCell::new(home.agent());
    let text = prop_oneof![any::<String>(), "\\PC{1,200}", "[\\x00-\\x7f]{1,80}"];
    let result = TestRunner::new(config(150)).run(&(text.clone(), text), |(title, content)| {
        let mut agent = agent.borrow_mut();
        let title: String = title.chars().take(250).collect();
        let arguments = json!({"title": format!("T{title}T"), "content": format!("C{content}C")});
        let reply = agent.call("mem_save", arguments);
        prop_assert!(!reply.is_error, "{:?}", reply);
        if reply["redacted"].is_null() {
            let whole = agent.get(reply.str("id"));
            prop_assert_eq!(whole["content"].as_str(), Some(&*kept(&format!("C{content}C"))));
        }
        Ok(())
    });
    result.unwrap();
}

#[test]
fn any_query_is_answered() {
    let home = Home::new();
    let agent = RefCell::new(home.agent());
    agent.borrow_mut().save("Something to find", "parseHTTPHeader in src/net/header.rs said \"no\" (E0502).");
    let query = prop_oneof![
        any::<String>(),
        "[-+~^*?:\\\\/\"'()\\[\\]{}<>&|! a-zA-Z0-9_.]{1,60}",
        "(AND|OR|NOT|TO|title:|content:|\\*|\"|\\(|\\)| |parse|HTTP){1,12}",
    ];
    let result = TestRunner::new(config(200)).run(&query, |query| {
        let reply = agent.borrow_mut().call("mem_search", json!({"query": query}));
        prop_assert!(!reply.text.trim().is_empty(), "{:?}", reply);
        let is_blank = kept(&query).trim().is_empty() || query.chars().count() > 2_000;
        prop_assert_eq!(reply.is_error, is_blank, "{:?}: {:?}", query, reply);
        Ok(())
    });
    result.unwrap();
}

#[test]
fn any_arguments_are_answered() {
    let home = Home::new();
    let agent = RefCell::new(home.agent());
    let arguments = prop::collection::hash_map(prop::sample::select(NAMES.to_vec()), any_json(), 0..6);
    let call = (prop::sample::select(TOOLS.to_vec()), arguments);
    let result = TestRunner::new(config(300)).run(&call, |(tool, arguments)| {
        let arguments: Value = arguments.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mut agent = agent.borrow_mut();
        let id = agent.send(tool, arguments);
        let answer = agent.answer(id).map_err(|e| TestCaseError::fail(format!("{tool}: {e:?}")))?;
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        prop_assert!(!text.is_empty(), "{}: {}", tool, answer);
        prop_assert!(!text.to_lowercase().contains("panic"), "{}: {}", tool, text);
        Ok(())
    });
    result.unwrap();
    assert!(!home.log_tail().contains("panicked"), "{}", home.log_tail());
}

#[test]
fn any_bytes_between_two_lines_do_no_harm() {
    let home = Home::new();
    let agent = RefCell::new(home.agent());
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    let result = TestRunner::new(config(200)).run(&bytes, |mut bytes| {
        let mut agent = agent.borrow_mut();
        bytes.push(b'\n');
        agent.try_send_bytes(&bytes).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let answer = agent.request("ping", json!({}));
        prop_assert!(answer.is_ok(), "{:?}", answer);
        Ok(())
    });
    result.unwrap();
}
