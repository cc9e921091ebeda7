"""Cerebro's packages in the hosts themselves: checked, installed, used and taken out by each host's own commands.

    tests/agents/run.py packages

For Claude Code, Codex and Gemini CLI, in a home of its own: the host checks the package, where it has a command for
that, and installs it. Then `cerebro setup` has nothing to do. In one turn the model must hear of all tools and be given
the stored context, the prompt must be kept, and the journal must have the command that ran. After the host has taken the
package out, its list does not name it, and another turn reaches nothing of Cerebro.
"""

import json
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import install
from bench import Bench, run
from clients import CLIENTS, Place
from survive import DONE, Worker

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
TOOLS = [tool["name"] for tool in json.loads((ROOT / "tests/golden/tools.json").read_text())]
KNOWN = "The harbour master listens on channel twelve"
FIRST = "Tell me what the harbour master listens on"
SECOND = "Tell me once more"
COMMAND_SECONDS = 120


@dataclass
class Host:
    folder: str
    checks: list  # commands that must succeed before anything is installed; `DIR` is the package
    puts: list
    lists: list  # the command whose answer names the package while it is there
    takes: list


HOSTS = {
    "claude": Host(
        "claude-code",
        [["plugin", "validate", "DIR"], ["plugin", "validate", "DIR/cerebro"]],
        [["plugin", "marketplace", "add", "DIR"], ["plugin", "install", "cerebro@cerebro"]],
        ["plugin", "list"],
        [["plugin", "uninstall", "cerebro"], ["plugin", "marketplace", "remove", "cerebro"]],
    ),
    "codex": Host(
        "codex",
        [],
        [["plugin", "marketplace", "add", "DIR"], ["plugin", "add", "cerebro@cerebro"]],
        ["plugin", "list"],
        [["plugin", "remove", "cerebro@cerebro"], ["plugin", "marketplace", "remove", "cerebro"]],
    ),
    "gemini": Host(
        "gemini-cli",
        [["extensions", "validate", "DIR"]],
        [["extensions", "install", "--consent", "DIR"]],
        ["extensions", "list"],
        [["extensions", "uninstall", "cerebro"]],
    ),
}


@dataclass
class Row:
    host: str
    checked: str = "no command"
    held: dict = field(default_factory=dict)
    faults: list = field(default_factory=list)

    def must(self, what, held, seen):
        self.held[what] = self.held.get(what, True) and bool(held)
        if not held:
            self.faults.append(f"{what}: {seen}")


def check(cerebro, root):
    """Runs it for each host, prints a table, and returns the failures."""
    rows = []
    for key in HOSTS:
        print(f"{CLIENTS[key].name} gets the package …", file=sys.stderr)
        rows.append(package(Bench(cerebro, root / key), key))
    table(rows)
    return [f"{row.host}: {fault}" for row in rows for fault in row.faults]


def package(bench, key):
    host, client, program = HOSTS[key], CLIENTS[key], install.client(key)
    row = Row(client.name)
    model = Worker()
    place = Place(bench.home, bench.work, model.url, str(uuid.uuid4()))
    client.configure(place)
    client.loosen(place)
    bench.install()
    environment = bench.environment(client.environment(place))
    # The packages name the program without a path.
    environment["PATH"] = f"{bench.program.parent}:{environment['PATH']}"

    def ask(words):
        words = [word.replace("DIR", str(PACKAGING / host.folder)) for word in words]
        done = subprocess.run([program, *words], cwd=bench.work, env=environment, input="y\n", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_SECONDS, check=False)
        return done.returncode, done.stdout

    try:
        bench.ask("save", KNOWN, "**What**: channel 12, day and night.")
        for words in host.checks:
            code, said = ask(words)
            row.must("checked", code == 0, said)
            row.checked = "yes" if row.held["checked"] else "NO"
        for words in host.puts:
            code, said = ask(words)
            row.must("installed", code == 0, said)
        row.must("installed", "cerebro" in ask(host.lists)[1], "its list does not name it")
        code, said = bench.setup("setup", client.setup, more=client.environment(place))
        row.must("setup waits", code == 0 and '"files":[]' in said, said)
        use(row, bench, client, program, place, environment, model)
        for words in host.takes:
            code, said = ask(words)
            row.must("taken out", code == 0, said)
        row.must("taken out", "cerebro@" not in ask(host.lists)[1] and "cerebro (" not in ask(host.lists)[1],
                 ask(host.lists)[1])
        without(row, bench, client, program, place, environment, model)
    finally:
        model.stop()
        bench.stop()
    return row


def use(row, bench, client, program, place, environment, model):
    """One turn with the package."""
    model.calls = [(*client.run("true"), 10)]
    code, output = run(client.work(program, place, FIRST), bench.work, environment)
    row.must("turn", code == 0 and DONE in output, f"{code}: …{output[-600:]}")
    # Claude Code offers some at once, and names the others.
    row.must("turn", model.offered, "the model was offered no tool")
    unnamed = [name for name in TOOLS if not any(name in seen.text for seen in model.seen)]
    row.must("turn", not unnamed, f"the model never heard of {unnamed}")
    told = any("cerebro-context" in seen.text and KNOWN in seen.text for seen in model.seen)
    row.must("turn", told, "the model was not given the context")
    row.must("turn", [each["content"] for each in prompts(bench)] == [FIRST], prompts(bench))
    row.must("journal", bench.wait(lambda: "'command': 'true'" in journal(bench)), journal(bench))


def without(row, bench, client, program, place, environment, model):
    """One turn after it was removed."""
    since = len(model.seen)
    place.session = str(uuid.uuid4())
    code, output = run(client.work(program, place, SECOND), bench.work, environment)
    row.must("taken out", code == 0 and DONE in output, f"{code}: …{output[-600:]}")
    offered = [seen.tools for seen in model.seen[since:] if seen.tools]
    row.must("taken out", not offered, f"the model was still offered {offered}")
    row.must("taken out", len(prompts(bench)) == 1, prompts(bench))


def prompts(bench):
    return bench.ask("prompts", "--all-projects")["prompts"]


def journal(bench):
    """All events of all pieces of work, as text."""
    works = bench.ask("work", "list", "--state", "all", "--all-projects")["works"]
    return str([bench.ask("work", "tail", work["work"], "--limit", "100") for work in works])


def table(rows):
    """The table of what each host did."""
    columns = ["installed", "setup waits", "turn", "journal", "taken out"]
    said = {True: "yes", False: "NO", None: "not run"}
    lines = [["host", "checked", *columns]]
    lines += [[row.host, row.checked, *(said[row.held.get(name)] for name in columns)] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
