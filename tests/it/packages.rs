//! Cerebro's packages for hosts: if a host has one, set-up adds nothing to it.

use std::fs;

use crate::support::{Home, json, tree};

#[test]
fn a_host_with_the_package_is_left_as_it_is_and_says_how_it_takes_it_out() {
    let home = Home::new();
    home.write(".claude/settings.json", "{\"enabledPlugins\": {\"cerebro@cerebro\": true}}\n");
    home.write(".codex/config.toml", "[plugins.\"cerebro@cerebro\"]\nenabled = true\n");
    home.write(".gemini/extensions/cerebro/gemini-extension.json", "{\"name\": \"cerebro\"}\n");
    let before = tree(&home.user());
    for (agent, removal) in [
        ("claude-code", "claude plugin uninstall"),
        ("codex", "codex plugin remove"),
        ("gemini-cli", "gemini extensions uninstall"),
    ] {
        let answer = home.json(&["setup", agent]);
        assert_eq!(answer["files"], json!([]), "{answer}");
        assert!(answer["notes"].to_string().contains(removal), "{answer}");
    }
    assert_eq!(tree(&home.user()), before);
    let left = home.json(&["uninstall"]);
    for words in ["claude plugin uninstall", "codex plugin remove", "gemini extensions uninstall"] {
        assert!(left["notes"].to_string().contains(words), "{words}: {left}");
    }
    assert_eq!(tree(&home.user()), before);
    let listed = home.json(&["setup"]).to_string();
    assert!(listed.contains("claude-code"), "{listed}");

    // With the package turned off, the host is set up as usual, and restored by unsetup.
    home.write(".claude/settings.json", "{\"enabledPlugins\": {\"cerebro@cerebro\": false}}\n");
    let answer = home.json(&["setup", "claude-code"]);
    assert_ne!(answer["files"], json!([]), "{answer}");
    home.run(&["unsetup", "claude-code"]).success();
}

#[test]
fn a_host_that_was_set_up_before_it_got_the_package_is_reported() {
    let home = Home::new();
    home.run(&["setup", "claude-code"]).success();
    let settings = home.user().join(".claude/settings.json");
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    value["enabledPlugins"] = json!({ "cerebro@cerebro": true });
    fs::write(&settings, value.to_string()).unwrap();
    let answer = home.json(&["setup", "claude-code"]);
    assert!(answer["notes"].to_string().contains("unsetup claude-code"), "{answer}");
}
