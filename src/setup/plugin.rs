//! Detects Cerebro's own packages for hosts: `packaging/claude-code`, `packaging/codex` and `packaging/gemini-cli`.
//! They do everything that setup would do.

use std::path::Path;

use serde_json::Value;

use super::user_folders::UserFolders;
use crate::hook::Agent;
use crate::platform;

/// Most bytes of a host's file that are read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How to remove Cerebro's package from the host, if it is installed and enabled.
pub fn removal(agent: &str, folders: &UserFolders) -> Option<&'static str> {
    if agent == Agent::ClaudeCode.as_str() {
        let folder = folders.named("CLAUDE_CONFIG_DIR", ".claude");
        let settings = serde_json::from_str(&read(&folder.join("settings.json"))?).ok()?;
        return is_enabled(&settings).then_some("claude plugin uninstall cerebro");
    }
    if agent == Agent::Codex.as_str() {
        let config = read(&folders.named("CODEX_HOME", ".codex").join("config.toml"))?;
        return is_enabled_in_codex(&toml::from_str(&config).ok()?)
            .then_some("codex plugin remove cerebro@cerebro");
    }
    if agent == Agent::GeminiCli.as_str() {
        let manifest = folders.gemini().join("extensions/cerebro/gemini-extension.json");
        return manifest.is_file().then_some("gemini extensions uninstall cerebro");
    }
    None
}

/// Whether a plugin of that name is Cerebro's, from any marketplace.
fn is_cerebros(name: &str) -> bool {
    name.split('@').next() == Some("cerebro")
}

/// Whether Claude Code's settings enable the plugin.
fn is_enabled(settings: &Value) -> bool {
    let plugins = settings["enabledPlugins"].as_object();
    plugins.into_iter().flatten().any(|(name, on)| *on == true && is_cerebros(name))
}

/// Whether Codex's configuration enables the plugin. The default is yes.
fn is_enabled_in_codex(config: &Value) -> bool {
    let plugins = config["plugins"].as_object();
    plugins.into_iter().flatten().any(|(name, plugin)| plugin["enabled"] != false && is_cerebros(name))
}

fn read(path: &Path) -> Option<String> {
    let file = platform::open_without_waiting(path).ok()?;
    std::io::read_to_string(std::io::Read::take(file, FILE_BYTES_MAX)).ok()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::setup::{self, Invocation, Part};

    #[test]
    fn only_an_enabled_plugin_of_cerebro_counts() {
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

    #[test]
    fn codex_lists_plugins_with_their_marketplace() {
        for (config, is_on) in [
            ("[plugins.\"cerebro@cerebro\"]\nenabled = true\n", true),
            ("[plugins.\"cerebro@elsewhere\"]\n", true),
            ("[plugins.\"cerebro@cerebro\"]\nenabled = false\n", false),
            ("[plugins.\"cerebro-two@cerebro\"]\nenabled = true\n", false),
            ("plugins = 7\n", false),
            ("[marketplaces.cerebro]\nsource = \"/x\"\n", false),
            ("", false),
        ] {
            assert_eq!(is_enabled_in_codex(&toml::from_str(config).unwrap()), is_on, "{config}");
        }
    }

    /// The packages have exactly the hooks that setup writes, including those of the journal, because setup does
    /// nothing if a package is installed. A hook prints nothing while the journal is off.
    #[test]
    fn the_packages_have_the_hooks_of_setup() {
        let folders = UserFolders::of(PathBuf::from("/home/user"));
        let invocation = Invocation { program: PathBuf::from("cerebro"), ..Invocation::default() };
        let packages = [
            (Agent::ClaudeCode, include_str!("../../packaging/claude-code/cerebro/hooks/hooks.json")),
            (Agent::Codex, include_str!("../../packaging/codex/cerebro/hooks/hooks.json")),
            (Agent::GeminiCli, include_str!("../../packaging/gemini-cli/hooks/hooks.json")),
        ];
        for (agent, text) in packages {
            let targets = setup::Agent::named(agent.as_str()).unwrap().targets(&folders, &invocation);
            let is_of_hooks = |part| matches!(part, Part::Hooks | Part::Journal);
            let (target, pieces) = targets
                .iter()
                .map(|target| (target, target.pieces_of(is_of_hooks)))
                .find(|(_, pieces)| !pieces.is_empty())
                .unwrap();
            let put = target.format.put("", &pieces).unwrap();
            let [put, package] =
                [put.as_str(), text].map(|text| serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(package["hooks"], put["hooks"], "{agent:?}");
        }
    }

    #[test]
    fn the_packages_have_this_version_and_the_instructions_of_setup() {
        for text in [
            include_str!("../../packaging/claude-code/cerebro/.claude-plugin/plugin.json"),
            include_str!("../../packaging/codex/cerebro/.codex-plugin/plugin.json"),
            include_str!("../../packaging/gemini-cli/gemini-extension.json"),
        ] {
            let manifest: Value = serde_json::from_str(text).unwrap();
            assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "{manifest}");
        }
        let context = include_str!("../../packaging/gemini-cli/GEMINI.md");
        assert_eq!(context, setup::INSTRUCTIONS);
        let claude = include_str!("../../packaging/claude-code/cerebro/skills/memory/SKILL.md");
        let codex = include_str!("../../packaging/codex/cerebro/skills/memory/SKILL.md");
        assert_eq!(claude, codex);
    }
}
