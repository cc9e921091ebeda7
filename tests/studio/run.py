#!/usr/bin/env python3
"""The official SurrealDB clients for JavaScript and Python against `cerebro studio`.

    tests/studio/run.py [--cerebro FILE] [--keep]

Each client, at its pinned version, is installed once into a cache folder ($CEREBRO_CLIENTS, by default
~/.cache/cerebro/clients). In a throw-away home it reads, calls a function, follows a save that an agent's
command makes, and tries to write, to define, to see other databases and to come in without the password.

Checked: what it was answered, and that the memory is byte for byte what it was (`cerebro export`, the
tables the database knows), and that nothing is left when the endpoint is closed.

Exit code 0 when every check held; each failed check is named.
"""

import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True  # leaves nothing behind in the checkout

HERE = Path(__file__).resolve().parent
NPM = {"surrealdb": "2.0.8", "ws": "8.23.0"}
PYPI = ("surrealdb", "2.0.0")
INSTALL_SECONDS = 900
WAIT_SECONDS = 60

# Statements that must be refused, or answer and change nothing.
WRITES = [
    "CREATE memory:intruder SET title = 'x'",
    "CREATE new_table:1 SET a = 1",
    "INSERT INTO memory { id: 'intruder', title: 'x' }",
    "UPSERT memory:intruder SET title = 'x'",
    "UPDATE memory SET title = 'x'",
    "DELETE memory",
    "BEGIN; DELETE memory; COMMIT",
]
REFUSED = [
    "DEFINE TABLE intruder",
    "DEFINE USER intruder ON DATABASE PASSWORD 'x' ROLES OWNER",
    "DEFINE FUNCTION fn::intruder() { RETURN 1 }",
    "REMOVE TABLE memory",
    "REMOVE USER studio ON DATABASE",
    "REBUILD INDEX memory_recent ON memory",
    "ALTER SYSTEM COMPACT",
    "INFO FOR ROOT",
    "INFO FOR NS",
    "USE NS other DB other",
    "RETURN http::get('http://127.0.0.1')",
    "RETURN function() { return 1 }",
    "RETURN sleep(1s)",
]


def cache():
    return Path(os.environ.get("CEREBRO_CLIENTS") or Path.home() / ".cache/cerebro/clients")


def install(command, folder, mark):
    """Runs an installing command in a folder of its own, once for each version."""
    done = folder / ".installed"
    if done.is_file() and done.read_text() == mark:
        return
    print(f"installing {mark} into {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for step in command:
        subprocess.run(step, cwd=folder, check=True, timeout=INSTALL_SECONDS, stdout=sys.stderr)
    done.write_text(mark)


def javascript():
    folder = cache() / "javascript"
    wanted = [f"{name}@{version}" for name, version in NPM.items()]
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    install([["npm", "init", "-y", "--silent"], ["npm", "install", *options, *wanted]], folder, " ".join(wanted))
    return folder


def python():
    folder = cache() / "python"
    wanted = "==".join(PYPI)
    steps = [[sys.executable, "-m", "venv", "venv"], ["venv/bin/pip", "install", "--quiet", wanted]]
    install(steps, folder, wanted)
    return folder / "venv/bin/python"


class Bench:
    """A temporary home with memories, its daemon, and the open endpoint."""

    def __init__(self, cerebro, root):
        self.cerebro, self.home, self.faults = str(cerebro), root / "home", []
        self.environment = {"HOME": str(root), "PATH": os.environ["PATH"]}
        self.command("save", "Alpha crane", "The crane lifts containers.", "--project", "demo")
        self.command("save", "Beta harbour", "Ships wait outside.", "--project", "demo")
        self.studio = subprocess.Popen(
            [self.cerebro, "--home", str(self.home), "--json", "studio"],
            env=self.environment, stdout=subprocess.PIPE, text=True)
        self.access = json.loads(self.studio.stdout.readline())
        self.file = Path(self.access["file"])

    def command(self, *words):
        line = [self.cerebro, "--home", str(self.home), *words]
        ran = subprocess.run(line, env=self.environment, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=WAIT_SECONDS, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"{words[0]} failed: {ran.stderr}")
        return ran.stdout

    def state(self):
        """Everything a visitor must not change: the memories and the definitions of the database."""
        tables = self.command("--json", "sql", "RETURN (INFO FOR DB).tables; RETURN (INFO FOR DB).functions")
        defined = [result["result"] for result in json.loads(tables)["results"]]
        return self.command("export"), json.dumps(defined, sort_keys=True)

    def must(self, held, what):
        if not held:
            self.faults.append(what)

    def end(self):
        self.studio.terminate()
        self.studio.wait(WAIT_SECONDS)
        self.must(not self.file.exists(), f"{self.file} is still there after closing")
        self.command("daemon", "stop")


def visit(bench, name, command, follows):
    """Runs one client and checks its output."""
    before = bench.state()
    titles = json.loads(bench.command("--json", "sql", "SELECT VALUE title FROM memory ORDER BY title"))
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdin.write("\n".join(WRITES + REFUSED) + "\n")
    client.stdin.close()
    said, attempts = {}, {}
    saved = f"Saved while {name} follows"
    for line in client.stdout:
        fact = json.loads(line)
        if "attempt" in fact:
            attempts[fact["attempt"]] = fact
        said.update(fact)
        if "following" in fact:
            bench.must(bench.state() == before, f"{name}: the memory or its tables changed")
            bench.command("save", saved, "By an agent.", "--project", "demo")
    client.wait(WAIT_SECONDS)
    bench.must(client.returncode == 0, f"{name}: ended with {client.returncode}")
    bench.must(said.get("titles") == titles["results"][0]["result"], f"{name}: read {said.get('titles')}")
    bench.must(said.get("recent", 0) >= 2, f"{name}: fn::cerebro::recent gave {said.get('recent')}")
    for text in ["guest", "wrong password", "root", *REFUSED]:
        bench.must("refused" in attempts.get(text, {}), f"{name}: not refused: {attempts.get(text, text)}")
    for text in [*WRITES, "method create", "method delete"]:
        bench.must(is_nothing(attempts.get(text)), f"{name}: a write answered {attempts.get(text, text)}")
    if follows:
        news = said.get("news", {})
        bench.must(news.get("title") == saved, f"{name}: the live query told {news}")
    else:
        bench.must(bench.state() == before, f"{name}: the memory or its tables changed")
    print(f"{name:<22} {len(attempts)} attempts, {len(titles['results'][0]['result'])} memories read")


def is_nothing(fact):
    """Whether a write was refused, or answered without a row."""
    def empty(value):
        return value is None or (isinstance(value, list) and all(empty(item) for item in value))
    return fact is not None and ("refused" in fact or empty(fact["answer"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cerebro", type=Path, default=Path.home() / ".cache/cerebro/target/release/cerebro")
    parser.add_argument("--keep", action="store_true", help="keep the throw-away home")
    options = parser.parse_args()
    packages, interpreter = javascript(), python()
    root = Path(tempfile.mkdtemp(prefix="cerebro-studio-"))
    bench = Bench(options.cerebro.resolve(), root)
    try:
        mode = stat.S_IMODE(bench.file.stat().st_mode)
        bench.must(mode == 0o600, f"{bench.file} has mode {mode:o}")
        script = str(HERE / "reader.mjs")
        visit(bench, "JavaScript, WebSocket", ["node", script, str(bench.file), str(packages)], True)
        script = str(HERE / "reader.py")
        visit(bench, "Python, WebSocket", [str(interpreter), script, str(bench.file), "ws"], True)
        visit(bench, "Python, HTTP", [str(interpreter), script, str(bench.file), "http"], False)
    finally:
        bench.end()
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)
    for fault in bench.faults:
        print(f"FAILED {fault}", file=sys.stderr)
    return 1 if bench.faults else 0


if __name__ == "__main__":
    started = time.monotonic()
    code = main()
    print(f"{'failed' if code else 'all held'} in {time.monotonic() - started:.1f} s")
    sys.exit(code)
