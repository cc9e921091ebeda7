"""The agents: their pinned packages, what their users have configured before Cerebro, how turns are run.

Of Cerebro nothing is configured here: `cerebro setup` does that. In `command`, an agent only talks to its servers; in
`work` its user lets it use its own tools too, as `loosen` and the command line say.
"""

import json
from dataclasses import dataclass
from pathlib import Path

PROMPT = "Remember what we decided about the harbour cranes, then look it up."


@dataclass
class Place:
    """Where one run happens: a home and a working folder of its own, and the model."""

    home: Path
    work: Path
    model: str  # base address of the model server
    session: str  # a session id, for the agents that can be told one

    def write(self, path, value):
        """Writes a user's file below the home: JSON, or text as it is."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))


class Claude:
    name = "Claude Code"
    package = ("@anthropic-ai/claude-code", "2.1.330")
    setup = "claude-code"
    agent = "claude-code"
    half = "structured"
    stripped = False

    def configure(self, place):
        place.write(".claude.json", {"hasCompletedOnboarding": True})
        place.write(".claude/settings.json", {"permissions": {"allow": ["WebSearch"]}})
        place.write(".claude/CLAUDE.md", "# My own rules\n\nBe brief.\n")

    def command(self, program, place):
        return [
            program, "-p", PROMPT, "--session-id", place.session,
            "--output-format", "stream-json", "--verbose",
        ]

    full = 990_000  # how long a conversation is that it shortens

    def loosen(self, place):
        place.write(".claude/settings.json", {"permissions": {"allow": ["WebSearch", "Bash", "Write", "Edit"]}})

    def work(self, program, place, prompt, session=None):
        which = ["--resume", session] if session else ["--session-id", place.session]
        return [program, "-p", prompt, *which, "--output-format", "stream-json", "--verbose"]

    def write(self, path, text):
        return "Write", {"file_path": str(path), "content": text}

    def run(self, line):
        return "Bash", {"command": line, "description": "Runs it"}

    def environment(self, place):
        return {
            "ANTHROPIC_BASE_URL": place.model, "ANTHROPIC_API_KEY": "mock",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            # With -p it would ask its model before a slow server has answered.
            "MCP_CONNECTION_NONBLOCKING": "0",
        }

    def session(self, place, output):
        return place.session


class Codex:
    name = "Codex"
    package = ("@openai/codex", "0.169.0")
    setup = "codex"
    agent = "codex-mcp-client"
    half = "structured"
    stripped = True

    def configure(self, place):
        place.write(".codex/config.toml", f"""\
# The user's own.
model = "mock"
model_provider = "mock"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = {json.dumps(place.model + "/v1")}
wire_api = "responses"
""")

    def command(self, program, place):
        # It would ask a person once whether to trust the hooks.
        trust = "--dangerously-bypass-hook-trust"
        return [program, "exec", "--json", "--sandbox", "read-only", trust, PROMPT]

    full = 5_000

    def loosen(self, place):
        pass

    def work(self, program, place, prompt, session=None):
        options = [
            "--json", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox",
            "-c", "model_auto_compact_token_limit=1000",
        ]
        return [program, "exec", *(["resume", *options, session] if session else options), prompt]

    def write(self, path, text):
        added = "".join(f"+{line}\n" for line in text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path.name}\n{added}*** End Patch\n"
        return self.run(f"apply_patch <<'EOF'\n{patch}EOF\n")

    def run(self, line):
        return "exec_command", {"cmd": line}

    def environment(self, place):
        return {"CODEX_HOME": str(place.home / ".codex")}

    def session(self, place, output):
        """`codex exec --json` begins with the id of its thread."""
        for line in output.splitlines():
            if '"thread.started"' in line:
                return json.loads(line)["thread_id"]
        return "(codex named no thread)"


class Gemini:
    name = "Gemini CLI"
    package = ("@google/gemini-cli", "0.61.0")
    setup = "gemini-cli"
    agent = "gemini-cli-mcp-client"
    half = "text"
    stripped = False

    def configure(self, place):
        place.write(".gemini/settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        })

    def command(self, program, place):
        return [program, "-m", "gemini-2.5-flash", "-p", PROMPT]

    full = 900_000

    def loosen(self, place):
        pass

    def work(self, program, place, prompt, session=None):
        which = ["--resume", "latest"] if session else []
        return [program, "-m", "gemini-2.5-flash", "--approval-mode", "yolo", *which, "-p", prompt]

    def write(self, path, text):
        return "write_file", {"file_path": str(path), "content": text}

    def run(self, line):
        return "run_shell_command", {"command": line}

    def environment(self, place):
        return {"GEMINI_API_KEY": "mock", "GOOGLE_GEMINI_BASE_URL": place.model}

    def session(self, place, output):
        """It prints no id; it continues the latest session."""
        return None


class OpenCode:
    name = "OpenCode"
    package = ("opencode-ai", "1.18.33")
    setup = "opencode"
    agent = "opencode"
    half = "text"
    stripped = False

    def configure(self, place):
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "mock",
            "options": {"baseURL": place.model + "/v1", "apiKey": "mock"},
            "models": {"mock": {"name": "mock", "tool_call": True}},
        }
        place.write(".config/opencode/opencode.json", {
            "$schema": "https://opencode.ai/config.json", "autoupdate": False, "share": "disabled",
            "model": "mock/mock", "small_model": "mock/mock", "provider": {"mock": provider},
            "permission": {"*": "ask", "bash": "ask"},
        })

    def command(self, program, place):
        return [program, "run", "--model", "mock/mock", PROMPT]

    full = 50_000

    def loosen(self, place):
        path = ".config/opencode/opencode.json"
        config = json.loads((place.home / path).read_text())
        config["permission"] = {"*": "allow"}
        config["provider"]["mock"]["models"]["mock"]["limit"] = {"context": 20_000, "output": 1_000}
        place.write(path, config)

    def work(self, program, place, prompt, session=None):
        return [program, "run", "--model", "mock/mock", *(["--continue"] if session else []), prompt]

    def write(self, path, text):
        return "write", {"filePath": str(path), "content": text}

    def run(self, line):
        return "bash", {"command": line, "description": "Runs it"}

    def environment(self, place):
        return {
            "XDG_CONFIG_HOME": str(place.home / ".config"),
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            # It asks npm, which cannot be reached here, for its plugin package, and would retry for a minute.
            "npm_config_fetch_retries": "0",
        }

    def session(self, place, output):
        return None


CLIENTS = {"claude": Claude(), "codex": Codex(), "gemini": Gemini(), "opencode": OpenCode()}
