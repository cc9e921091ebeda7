"""Work that survives: each real agent is killed in the middle of a command, and the agent that continues is told about it.

    tests/agents/run.py survive

For each of the four agents, in a home of its own in which all four are set up, a scripted model changes a file, runs a
test that fails, and starts a command that does not end. There the agent is killed with SIGKILL. Then

    1. another agent begins in the same folder, and must be told what was left,
    2. the killed agent resumes its session, and must be told its own work,
    3. in that turn the model says that the conversation is too long, so that the agent shortens it by itself, and the
       agent must be told once more.

Told means: within the frame that Cerebro's hooks give to the model, the last request, the changed file, the failing
test, and the command of unknown outcome.
"""

import html
import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from dataclasses import dataclass, field

import install
from bench import Bench, run
from clients import CLIENTS, Place
from dialects import Call
from model import DONE, Model

ASKED = "Let the blue crane lift twice and keep its interface"
AGAIN = "Go on with the crane"
LOOK = "Is there anything left to do here"
FILE = "crane.txt"
FAILING = "test_crane_lifts_twice"
DEPLOY = "./deploy --blue"
BEGAN = "began"  # holds the process id of the command that does not end
SUMMARY = "<state_snapshot>half done</state_snapshot>\n<summary>half done</summary>"
FRAME = re.compile(r"<cerebro-context>(.*?)</cerebro-context>", re.S)
SCRIPTS = {
    "pytest": f"#!/bin/sh\necho 'FAILED crane.py::{FAILING} - assert 1 == 2'\n"
              "echo '==== 1 failed, 3 passed in 0.12s ===='\nexit 1\n",
    "deploy": f"#!/bin/sh\necho $$ > {BEGAN}\nexec sleep 300\n",
}


@dataclass
class Row:
    agent: str
    other: str = ""
    told: dict = field(default_factory=dict)  # what was asked -> whether it was told
    faults: list = field(default_factory=list)


class Worker(Model):
    """A model that makes the calls of a list, one per request, and summarises when asked to."""

    def __init__(self):
        super().__init__([])
        self.calls = []  # tool, arguments, how long the conversation is said to be
        self.summed = []  # the numbers of the requests that asked for a summary
        self.taking = threading.Lock()

    def reply(self, seen):
        with self.taking:
            self.tokens = 10
            # Claude Code asks for a summary with tools; the others without.
            if not seen.own or "<summary> block" in seen.text:
                self.summed.append(len(self.seen))
                return SUMMARY
            if not self.calls:
                return DONE
            tool, arguments, self.tokens = self.calls.pop(0)
            return Call(seen.own[tool], arguments, len(self.seen))

    def told(self, since):
        """What Cerebro told the model of unfinished work, from a request on."""
        # Gemini CLI escapes the output of hooks.
        frames = [frame for seen in self.seen[since:] for frame in FRAME.findall(html.unescape(seen.text))]
        return [frame for frame in frames if "nfinished: " in frame]


def check(cerebro, root):
    """Runs it for each agent, prints a table, and returns the failures."""
    agents = list(CLIENTS)
    rows = []
    for number, key in enumerate(agents):
        other = agents[(number + 1) % len(agents)]
        print(f"{CLIENTS[key].name} is killed …", file=sys.stderr)
        rows.append(survive(Bench(cerebro, root / key), key, other))
    table(rows)
    return [f"{row.agent}: {fault}" for row in rows for fault in row.faults]


def survive(bench, key, other):
    row = Row(CLIENTS[key].name, CLIENTS[other].name)
    model = Worker()
    place = Place(bench.home, bench.work, model.url, str(uuid.uuid4()))
    environment = bench.environment(set_up(row, bench, place))
    for name, text in SCRIPTS.items():
        (bench.work / name).write_text(text)
        (bench.work / name).chmod(0o755)
    try:
        bench.ask("projects")  # a daemon is there, as it is after the first session of a day
        session = kill(row, bench, model, key, place, environment)
        goes_on(row, bench, model, other, place, environment)
        resumes(row, bench, model, key, place, environment, session)
        verified = bench.ask("work", "verify")
        if verified["findings"]:
            row.faults.append(f"the journal does not verify: {verified}")
    finally:
        model.stop()
        bench.stop()
    return row


def set_up(row, bench, place):
    """Sets all agents up; returns the variables that they need."""
    bench.install()
    variables = {}
    for client in CLIENTS.values():
        client.configure(place)
        client.loosen(place)
        variables |= client.environment(place)
    for client in CLIENTS.values():
        code, said = bench.setup("setup", client.setup, "--allow", more=variables)
        if code != 0:
            row.faults.append(f"setup {client.setup} ended with {code}: {said}")
    return variables


def kill(row, bench, model, key, place, environment):
    """Lets the agent work until a command that does not end, and kills it; returns its session."""
    client = CLIENTS[key]
    content = "".join(f"line {number} of what the crane does\n" for number in range(200))
    calls = [client.write(bench.work / FILE, content), client.run("./pytest -q"), client.run(DEPLOY)]
    model.calls = [(*call, 10) for call in calls]
    log = bench.root / "killed.output"
    with log.open("wb") as output:
        agent = subprocess.Popen(
            client.work(install.client(key), place, ASKED), cwd=bench.work, env=environment,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )
        began = bench.work / BEGAN
        seen = bench.wait(lambda: (began.is_file() and began.read_text().strip()) or agent.poll() is not None)
        # Its hook reports the command concurrently.
        bench.wait(lambda: DEPLOY in str(works(bench)))
        os.killpg(agent.pid, signal.SIGKILL)
        agent.wait()
    if isinstance(seen, str):
        end(int(seen))
    else:
        row.faults.append(f"it never came to the command: …{log.read_text()[-600:]}")
    bench.wait(lambda: any(work["stale"] == "lost" for work in listed(bench)))
    # Codex reports its patches in its transcript only.
    if not bench.wait(lambda: not missing(left(bench), ASKED)):
        row.faults.append(f"`work resume` lacks {missing(left(bench), ASKED)}: {left(bench)}")
    return client.session(place, log.read_text()) or "latest"


def end(process):
    """Ends the command that was left running."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def listed(bench):
    return bench.ask("work", "list", "--state", "all")["works"]


def works(bench):
    """All that is known of the newest piece of work."""
    found = listed(bench)
    return bench.ask("work", "show", found[0]["work"]) if found else {}


def left(bench):
    """What a person is shown."""
    return str(bench.ask("work", "resume", check=False))


def missing(text, request):
    """The facts that a text lacks."""
    return [fact for fact in (request, FILE, FAILING, DEPLOY, "Unknown outcome") if fact not in text]


def judge(row, what, frames, request):
    lacks = [missing(frame, request) for frame in frames]
    row.told[what] = any(not lack for lack in lacks)
    if not row.told[what]:
        row.faults.append(f"{what}: of {len(frames)} hints, they lack {lacks}: {frames[:1]}")


def goes_on(row, bench, model, other, place, environment):
    """Another agent begins in the same folder."""
    since = len(model.seen)
    turn(row, bench, other, CLIENTS[other].work(install.client(other), place, LOOK), environment)
    judge(row, "another agent", model.told(since), ASKED)


def resumes(row, bench, model, key, place, environment, session):
    """The agent itself resumes, and its conversation becomes too long."""
    client = CLIENTS[key]
    since = len(model.seen)
    model.summed = []
    model.calls = [(*client.run("seq 1 300"), client.full), (*client.run("true"), 10)]
    turn(row, bench, key, client.work(install.client(key), place, AGAIN, session), environment)
    judge(row, "resumed", model.told(since), ASKED)
    if not model.summed:
        row.faults.append("it did not shorten its conversation")
        row.told["shortened"] = False
        return
    judge(row, "shortened", model.told(model.summed[-1]), AGAIN)


def turn(row, bench, key, command, environment):
    code, output = run(command, bench.work, environment)
    (bench.root / f"{key}.output").write_text(output)
    if code != 0 or DONE not in output:
        row.faults.append(f"{CLIENTS[key].name} ended with {code}: …{output[-600:]}")


def table(rows):
    """The table of who was told what."""
    said = {True: "told", False: "NOT told", None: "NOT run"}
    asked = ["another agent", "resumed", "shortened"]
    lines = [["killed", *asked]]
    for row in rows:
        cells = [said[row.told.get(what)] for what in asked]
        lines.append([row.agent, f"{cells[0]} ({row.other})", *cells[1:]])
    widths = [max(len(line[column]) for line in lines) for column in range(len(asked) + 1)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
