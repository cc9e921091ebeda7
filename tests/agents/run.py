#!/usr/bin/env python3
"""Runs the real agents against Cerebro, offline, with a model server of our own.

    tests/agents/run.py [--cerebro FILE] [--keep] [PART...]

The parts are claude, codex, gemini, opencode and inspector, which this page describes, `packages` (packages.py) and
`survive` (survive.py); without any, all.

Each agent, at its pinned version, is installed from npm into a cache folder ($CEREBRO_AGENTS, by
default ~/.cache/cerebro/agents), set up by `cerebro setup AGENT --allow` in a throw-away home that has
some configuration already, and given one turn there. Its model

    1. saves a memory,
    2. searches, after the daemon was killed with SIGKILL,
    3. searches for nothing at all, which is an error it must be told of,
    4. saves a second memory.

Checked: that the setup says of itself that it connects; the tools the agent listed, the results that
came back to the model and in which half; that the hooks gave the model the stored context, and kept the
prompt and the last message; what Cerebro holds afterwards; and that `cerebro unsetup` leaves every file
as it was. All agents share one memory, so each must also find what those before it saved.

Exit code 0 when every check held; each failed check is named with what was seen instead.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True  # leaves nothing behind in the checkout

import inspector
import install
import packages
import survive
from bench import PROJECT, Bench, run
from clients import CLIENTS, PROMPT, Place
from model import DONE, Model, Step
from wire import Wire

QUERY = "which crane lifts the containers"
KNOWN = "The harbour master listens on channel twelve"  # what the memory holds from the beginning
TOOLS = 13


@dataclass
class Row:
    """One line of the table, and its failures."""

    client: str
    version: str
    era: str = "?"
    listed: int = 0
    offered: int = 0
    saved: bool = False
    searched: bool = False
    told: bool = False
    half: str = "?"
    hooks: bool = False
    unset: bool = False
    list_ms: float = 0.0
    turn_s: float = 0.0
    faults: list = field(default_factory=list)

    def must(self, held, what):
        if not held:
            self.faults.append(what)


def turn(bench, key, program, earlier):
    """One agent's turn: configure, run, check all four sides (agent, wire, model, memory)."""
    client = CLIENTS[key]
    row = Row(client.name, client.package[1])
    titles = [f"{client.name} chose the blue crane for the containers",
              f"{client.name} chose diesel for the ferry"]
    model = Model(script(titles, bench))
    log = bench.root / f"{key}.wire"
    place = Place(bench.home, bench.work, model.url, str(uuid.uuid4()))
    client.configure(place)
    more = client.environment(place)
    original = bench.files()
    set_up(row, client, bench, more)
    written = bench.files()
    bench.tap(log)
    started = time.monotonic()
    environment = bench.environment(more)
    code, output = run(client.command(program, place), bench.work, environment)
    row.turn_s = time.monotonic() - started
    model.stop()
    (bench.root / f"{key}.output").write_text(output)
    wire = Wire(log)
    row.era, row.listed, row.list_ms = wire.era, len(wire.tools), wire.listed_at
    row.offered = len(model.offered)
    row.must(code == 0, f"the agent ended with {code}: …{output[-400:]}")
    row.must(DONE in output, "the agent did not print the model's last words")
    check_daemon(row, bench)  # first: the other questions would start another
    check_tools(row, wire, model)
    check_results(row, client, wire, model, [*earlier, titles[0]])
    check_memory(row, client, bench, titles, client.session(place, output))
    check_start(row, client, wire, bench)
    check_hooks(row, client, model, bench)
    unset(row, client, bench, more, original, written)
    return row, titles[0]


def set_up(row, client, bench, more):
    """Sets the agent up twice; the second time must change nothing."""
    bench.install()
    code, said = bench.setup("setup", client.setup, "--allow", more=more)
    row.must(code == 0, f"setup ended with {code}: {said}")
    before = bench.files()
    bench.setup("setup", client.setup, "--allow", more=more)
    row.must(bench.files() == before, "setting up twice is not setting up once")
    code, said = bench.setup("setup", client.setup, "--check", more=more)
    row.must(code == 0 and '"connected":true' in said, f"setup --check ended with {code}: {said}")


def unset(row, client, bench, more, original, written):
    """Removes Cerebro. Files that the agent has rewritten itself must only be free of Cerebro."""
    bench.install()
    changed = {path for path, data in bench.files().items() if written.get(path) != data}
    code, said = bench.setup("unsetup", client.setup, more=more)
    row.must(code == 0, f"unsetup ended with {code}: {said}")
    now = bench.files()
    faults = []
    for path in written:
        if ".cerebro-backup" in path.name:
            continue
        if path not in changed and now.get(path) != original.get(path):
            faults.append(f"{path} is not what it was")
        if path in changed and path.suffix == ".json" and b"cerebro" in now.get(path, b""):
            faults.append(f"{path}, which the agent rewrote, still names Cerebro")
    row.unset = not faults
    for fault in faults:
        row.must(False, fault)


def check_hooks(row, client, model, bench):
    """The context reached the model; the prompt and the last message are kept, in the agent's session."""
    told = any("cerebro-context" in seen.text and KNOWN in seen.text for seen in model.seen)
    row.must(told, "the model was not given the context")
    prompts = [each for each in bench.ask("prompts")["prompts"] if each["agent"] == client.agent]
    # OpenCode puts words from its command line between quotes.
    contents = [each["content"].strip('"') for each in prompts]
    row.must(contents == [PROMPT], f"prompts kept: {prompts}")
    kept = sessions(bench, {each["session_id"] for each in prompts})
    row.must([each["summary"] for each in kept] == [DONE], f"sessions of the prompts: {kept}")
    row.hooks = told and len(prompts) == 1 and len(kept) == 1


def script(titles, bench):
    first, second = ({"title": title, "content": f"**What**: {title}.", "type": "decision"}
                     for title in titles)
    return [
        Step("mem_save", first),
        Step("mem_search", {"query": QUERY}, before=bench.kill_daemon),
        Step("mem_search", {"query": " "}),
        Step("mem_save", second, before=bench.note_daemon),
    ]


def check_tools(row, wire, model):
    row.must(row.listed == TOOLS, f"listed {row.listed} tools: {wire.tools}")
    row.must("mem_save" in model.offered and "mem_search" in model.offered,
             f"the model was offered only {model.offered}")
    unnamed = [name for name in wire.tools if not any(name in seen.text for seen in model.seen)]
    row.must(not unnamed, f"the model never heard of {unnamed}")
    row.must(not wire.errors, f"Cerebro wrote to standard error: {wire.errors}")
    row.must(not wire.faults, f"protocol errors on the wire: {wire.faults}")


def check_results(row, client, wire, model, titles):
    """What came back to the model must be what Cerebro answered, in the half this agent shows."""
    row.must(len(wire.answers) == len(model.results) == len(model.script),
             f"{len(model.script)} calls, {len(wire.answers)} answers, {len(model.results)} results")
    halves = [which_half(answer, result) for answer, result in zip(wire.answers, model.results)]
    fine = [half != "neither" and not answer.get("isError") for half, answer in zip(halves, wire.answers)]
    if len(fine) != len(model.script):
        return
    row.saved, row.searched = fine[0] and fine[3], fine[1]
    row.told = wire.answers[2].get("isError", False) and "query" in model.results[2]
    row.half = "/".join(sorted({halves[0], halves[1], halves[3]}))
    row.must(row.saved and row.searched, f"results the model got: {model.results}")
    row.must(row.told, f"the model was not told of the error: {model.results[2]}")
    row.must(row.half == client.half, f"the model got the {row.half} half, expected {client.half}")
    missing = [title for title in titles if title not in model.results[1]]
    row.must(not missing, f"the search did not bring {missing}: {model.results[1]}")


def which_half(answer, result):
    """Which half of the answer the model got."""
    text = "\n".join(block.get("text", "") for block in answer.get("content", []))
    as_text = bool(text) and text.strip() in result
    as_data = False
    if (start := result.find("{")) >= 0:
        try:
            as_data = json.JSONDecoder().raw_decode(result[start:])[0] == answer.get("structuredContent")
        except ValueError:
            pass
    return {(1, 1): "both", (1, 0): "text", (0, 1): "structured", (0, 0): "neither"}[as_text, as_data]


def check_memory(row, client, bench, titles, session):
    """Cerebro's own records: each memory once, of this agent and project, in its own session."""
    every = bench.ask("list", "--all-projects")["memories"]
    saved = [memory for memory in every if memory["title"] in titles]
    row.must(len(saved) == len(titles), f"{len(saved)} memories of the turn are stored: {saved}")
    inside = {bench.ask("get", memory["id"])["session_id"] for memory in saved}
    row.must(len(inside) == 1, f"the turn's memories are in sessions {inside}")
    for kind, found in (("memory", saved), ("session", sessions(bench, inside))):
        for each in found:
            row.must(each["agent"] == client.agent, f"the {kind}'s agent is {each['agent']}")
            row.must(each["project"] == PROJECT, f"the {kind}'s project is {each['project']}")
    prompted = {each["session_id"] for each in bench.ask("prompts")["prompts"]
                if each["agent"] == client.agent}
    row.must(inside == prompted, f"memories are in session {inside}, the prompt is in {prompted}")
    row.must(session is None or inside == {session}, f"the session is {inside}, the agent's own is {session}")


def sessions(bench, ids):
    return [each for each in bench.ask("sessions", "--all-projects")["sessions"] if each["id"] in ids]


def check_start(row, client, wire, bench):
    """The server is started where the agent works; an agent said to strip the environment does so."""
    row.must(wire.cwd == str(bench.work), f"the server was started in {wire.cwd}")
    stripped = "XDG_RUNTIME_DIR" not in wire.env
    row.must(stripped == client.stripped, f"environment stripped: {stripped}; it has {wire.env}")


def check_daemon(row, bench):
    """The daemon that this agent's server started must outlive the agent: others use it too."""
    said = bench.log()[bench.logged:]
    row.must(bench.daemon() == bench.noted, f"the daemon ended with the agent; its log: {said}")
    errors = [line for line in said if " ERROR " in line]
    row.must(not errors, f"the daemon's log has errors: {errors[:3]}")


def table(rows):
    """The table of what each agent did."""
    head = ["client", "version", "protocol", "tools", "at once", "saved", "searched", "told errors",
            "half", "hooks", "unset", "list", "turn"]
    said = {True: "yes", False: "NO"}
    lines = [head] + [
        [row.client, row.version, row.era, str(row.listed), str(row.offered), said[row.saved],
         said[row.searched], said[row.told], row.half, said[row.hooks], said[row.unset],
         f"{row.list_ms:.0f} ms", f"{row.turn_s:.1f} s"]
        for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


PARTS = [*CLIENTS, "inspector", "packages", "survive"]


def arguments():
    target = os.environ.get("CARGO_TARGET_DIR") or Path.home() / ".cache/cerebro/target"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cerebro", type=Path, default=Path(target) / "release/cerebro", help="the program")
    parser.add_argument("--keep", action="store_true", help="keep the throw-away home and name it")
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PARTS))
    options = parser.parse_args()
    options.parts = options.parts or PARTS
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if not options.cerebro.is_file():
        parser.error(f"{options.cerebro} is not there; build it first: make build")
    options.cerebro = options.cerebro.resolve()
    return options


def turns(options, root):
    """Runs the agents one after the other on one memory; returns the failures."""
    bench = Bench(options.cerebro, root / "turns")
    rows, titles, lints = [], [], []
    try:
        bench.ask("save", KNOWN, "**What**: channel 12, day and night.")
        for part in options.parts:
            if part == "inspector":
                lints = inspector.check(bench)
            elif part in CLIENTS:
                print(f"{CLIENTS[part].name} …", file=sys.stderr)
                row, title = turn(bench, part, install.client(part), titles)
                rows.append(row)
                titles += [title] if row.saved else []
    finally:
        bench.stop()
    if rows:
        table(rows)
    for lint in lints:
        print(lint.line())
    faults = [f"{row.client}: {fault}" for row in rows for fault in row.faults]
    return faults + [fault for lint in lints for fault in lint.faults]


def main():
    options = arguments()
    root = Path(tempfile.mkdtemp(prefix="cerebro-agents-")).resolve()
    faults = []
    try:
        faults += turns(options, root)
        if "packages" in options.parts:
            faults += packages.check(options.cerebro, root / "packages")
        if "survive" in options.parts:
            faults += survive.check(options.cerebro, root / "survive")
    finally:
        if options.keep:
            print(f"kept: {root}", file=sys.stderr)
        else:
            shutil.rmtree(root, ignore_errors=True)
    for fault in faults:
        print(f"FAILED  {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
