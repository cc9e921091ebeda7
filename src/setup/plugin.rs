//! Cerebro's own packages for hosts that have such, `packaging/claude-code` and `packaging/gemini-cli`: whether the host
//! has one, which does all that set-up would do.

use std::path::Path;

use serde_json::Value;

use super::place::Places;
use crate::hook::Agent;
use crate::platform;

/// Most bytes of a host's file that are read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How the host takes out Cerebro's package, where it has it and has it turned on.
pub fn removal(agent: &str, places: &Places) -> Option<&'static str> {
    if agent == Agent::ClaudeCode.name() {
        let folder = places.named("CLAUDE_CONFIG_DIR", ".claude");
        return is_enabled(&read(&folder.join("settings.json"))?)
            .then_some("claude plugin uninstall cerebro");
    }
    if agent == Agent::GeminiCli.name() {
        let manifest = places.home(".gemini/extensions/cerebro/gemini-extension.json");
        return manifest.is_file().then_some("gemini extensions uninstall cerebro");
    }
    None
}

/// Whether Claude Code's settings turn the plugin on, from whichever marketplace.
fn is_enabled(settings: &Value) -> bool {
    let plugins = settings["enabledPlugins"].as_object();
    plugins.into_iter().flatten().any(|(name, on)| *on == true && name.split('@').next() == Some("cerebro"))
}

fn read(path: &Path) -> Option<Value> {
    let file = platform::open_without_waiting(path).ok()?;
    serde_json::from_reader(std::io::Read::take(file, FILE_BYTES_MAX)).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_plugin_of_ours_that_is_on_counts() {
        for (settings, is_on) in [
            (json!({ "enabledPlugins": { "cerebro@cerebro": true } }), true),
            (json!({ "enabledPlugins": { "cerebro@elsewhere": true, "other@x": false } }), true),
            (json!({ "enabledPlugins": { "cerebro@cerebro": false } }), false),
            (json!({ "enabledPlugins": { "cerebro-two@cerebro": true } }), false),
            (json!({ "enabledPlugins": ["cerebro@cerebro"] }), false),
            (json!({}), false),
        ] {
            assert_eq!(is_enabled(&settings), is_on, "{settings}");
        }
    }

    /// The package has the hooks that set-up would put in, with the same command lines.
    #[test]
    fn the_packages_have_every_hook() {
        let claude = include_str!("../../packaging/claude-code/cerebro/hooks/hooks.json");
        let gemini = include_str!("../../packaging/gemini-cli/hooks/hooks.json");
        for (agent, text) in [(Agent::ClaudeCode, claude), (Agent::GeminiCli, gemini)] {
            let hooks: Value = serde_json::from_str(text).unwrap();
            let named: BTreeSet<&str> =
                hooks["hooks"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(named, agent.events().iter().copied().collect(), "{agent:?}");
            for event in agent.events() {
                let command = &hooks["hooks"][event][0]["hooks"][0]["command"];
                assert_eq!(*command, format!("cerebro hook {} {event}", agent.name()), "{agent:?}");
            }
        }
    }

    #[test]
    fn the_packages_are_of_this_version_and_say_what_set_up_says() {
        for text in [
            include_str!("../../packaging/claude-code/cerebro/.claude-plugin/plugin.json"),
            include_str!("../../packaging/gemini-cli/gemini-extension.json"),
        ] {
            let manifest: Value = serde_json::from_str(text).unwrap();
            assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "{manifest}");
        }
        let context = include_str!("../../packaging/gemini-cli/GEMINI.md");
        assert_eq!(context, crate::setup::INSTRUCTIONS);
    }
}
