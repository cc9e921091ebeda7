#!/usr/bin/env python3
"""A tour of `cerebro web` in a real browser: every page, with and without JavaScript, narrow and wide, light and dark.

    tests/web/run.py --cerebro FILE [--memories N] [--loads N] [--pictures] [--keep FOLDER]

Chromium comes from the system (`apt install chromium`, or $CHROMIUM); axe-core and puppeteer-core, at their pinned
versions, are installed once into a cache folder ($CEREBRO_CLIENTS, by default ~/.cache/cerebro/clients). A throw-away
home is filled with N memories; a small server on this machine gives them vectors, so that there are relations to draw.

Checked on every page: what axe finds (nothing may be), requests to another host (none may be), what the console says
(nothing may be wrong), HTML under 60 KB, at most 1,800 elements, no sideways scrolling at 320 px, no layout shift, and that
a search, an edit, a pin, a delete, a restore, a decision on a pair, a merge and the worker's pause work with the keyboard
alone and without scripts. The median time of the first page, just opened and later, and of lists at any depth has to be
20 ms at most.

Exit code 0 when every check held; each failed check is named. `--pictures` writes the README's into docs/screens.
"""

import argparse
import http.client
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import zlib
from pathlib import Path

sys.dont_write_bytecode = True  # leaves nothing behind in the checkout

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NPM = {"puppeteer-core": "24.10.0", "axe-core": "4.10.3"}
DIMENSION = 64
INSTALL_SECONDS = 600
WAIT_SECONDS = 120
# The worker of a larger home is paused and not waited for.
WAITED_MAX = 5000
# How often the page is opened again, and the longest time of its first page, as a median.
OPENINGS = 7
FIRST_MS_MAX = 20.0


def cache():
    return Path(os.environ.get("CEREBRO_CLIENTS") or Path.home() / ".cache/cerebro/clients")


def install():
    folder = cache() / "browser"
    mark = json.dumps(NPM)
    done = folder / ".installed"
    if not (done.is_file() and done.read_text() == mark):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": NPM}))
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(command, cwd=folder, check=True, timeout=INSTALL_SECONDS, stdout=sys.stderr)
        done.write_text(mark)
    return folder


def chromium():
    named = os.environ.get("CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if not found:
        sys.exit("no browser: apt install chromium, or name one in $CHROMIUM")
    return found


def vector(text):
    """A text as the sum of its words' places: near texts have near vectors."""
    numbers = [0.0] * DIMENSION
    for word in text.lower().split():
        numbers[zlib.crc32(word.encode()) % DIMENSION] += 1.0
    return numbers


class Embeddings(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        body = json.dumps({"object": "list", "data": data, "model": "tour", "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Agent:
    """An agent that stays connected for as long as the tour lasts."""

    def __init__(self, command, name, project):
        self.process = subprocess.Popen(command + ["mcp", "--project", project], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        client = {"name": name, "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]


def furnish(command, memories, work):
    """Memories of some weeks, and what an agent does on top of them."""
    lines = subprocess.run([sys.executable, ROOT / "tests/tui/store.py", str(memories)], check=True, capture_output=True)
    (work / "all.jsonl").write_bytes(lines.stdout)
    subprocess.run(command + ["import", work / "all.jsonl"], check=True, stdout=subprocess.DEVNULL)
    agents = [Agent(command, "claude-code", "acme/payments"), Agent(command, "codex", "acme/website")]
    first = agents[0]
    first.call("mem_session_start")
    for seconds in [30, 31, 32, 33]:
        first.call("mem_save", title=f"The lease of a job ends after {seconds} s", type="discovery",
            content=f"The lease of a job ends {seconds} s after it was taken, unless whoever took it renews it before.")
    text = (ROOT / "docs/decisions/README.md").read_text()[:600]
    made = first.call("mem_save", title="Payments are retried twice, then queued", type="decision", tags=["payments", "retry"],
        content="## Why\n\nThe bank answers **late** rather than never: a third try at once met the lock of the first.\n\n"
        "| try | after | outcome |\n| --- | ---: | --- |\n| 1 | 0 ms | 92 % |\n| 2 | 400 ms | 7 % |\n| 3 | queued | 1 % |\n\n"
        "```rust\nlet outcome = retry(2, Duration::from_millis(400), || charge(&order)).await?;\n```\n\n"
        "- [x] measured on the last month\n- [ ] look again after the bank's change\n\nSee `src/payments/retry.rs`.")
    first.call("mem_save", title="Payments are retried twice and then go to the queue", type="decision",
        content="The bank answers late rather than never: two tries, then the queue. See `src/payments/retry.rs`.")
    # A name that few memories share, so that there is something to draw.
    for title, kind in [("The bank's lock lasts 300 ms", "discovery"), ("A refund is never retried", "decision"),
            ("A third try charged an order twice", "bugfix"), ("Retries are counted by outcome", "pattern")]:
        first.call("mem_save", title=title, type=kind, content=f"{title}. Where: `src/payments/retry.rs`")
    first.call("mem_update", id=made["id"], content="## Why\n\nThe bank answers **late** rather than never: a third try at once "
        "met the lock of the first.\n\n| try | after | outcome |\n| --- | ---: | --- |\n| 1 | 0 ms | 92 % |\n| 2 | 400 ms | 7 % |\n"
        "| 3 | queued | 1 % |\n\n```rust\nlet outcome = retry(2, Duration::from_millis(400), || charge(&order)).await?;\n```\n\n"
        "- [x] measured on the last month\n- [x] look again after the bank's change: it holds\n\nSee `src/payments/retry.rs`.")
    first.call("mem_save", title="<script>alert('a title')</script>", content="<img src=x onerror=alert(1)> and **bold**\n\n" + text)
    first.call("mem_save_prompt", content="Why do we retry payments twice?")
    for query in ["why do we retry payments twice", "queue lease", "nothing like this at all zzz"]:
        agents[1].call("mem_search", query=query)
    agents[1].call("mem_context")
    return made["id"], agents


def tell_of_the_past(command, work):
    """A session that an agent recorded, and a piece of work that another agent's hooks reported."""
    folder = work / ".claude/projects/-payments"
    folder.mkdir(parents=True)
    said = [("user", "Why do we retry payments twice?"), ("assistant", [{"type": "text", "text": "The bank answers late."}]),
        ("assistant", [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "cargo test"}}]),
        ("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "error[E0425]: no `retry`", "is_error": True}]),
        ("user", "Go on"), ("assistant", [{"type": "text", "text": "It retries twice, and then the queue has it."}])]
    lines = [{"type": role, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "past-1", "cwd": str(work),
        "version": "2.1.39", "gitBranch": "main", "isSidechain": False, "timestamp": f"2026-10-01T10:{n:02}:00.001Z",
        "message": {"role": role, "id": f"m{n}", "content": content}} for n, (role, content) in enumerate(said)]
    (folder / "past-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    subprocess.run(command + ["history", "import", "--yes", "--since", "0"], check=True, stdout=subprocess.DEVNULL)
    for event, more in [("UserPromptSubmit", {"prompt": "Mend the pier"}), ("PostToolUse", {"tool_name": "Bash",
            "tool_use_id": "c2", "tool_input": {"command": "cargo test"}, "tool_response": "Process exited with code 0\nOutput:\nok"})]:
        told = {"hook_event_name": event, "session_id": "pier", "cwd": str(work), **more}
        subprocess.run(command + ["hook", "codex", event], input=json.dumps(told).encode(), check=True, stdout=subprocess.DEVNULL)


def wait_for_vectors(command):
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        facts = json.loads(subprocess.run(command + ["worker", "status", "--json"], check=True, capture_output=True).stdout)
        if json.dumps(facts).find('"queue_depth": 0') >= 0 or facts.get("queue_depth") == 0:
            return
        time.sleep(0.5)
    print("the worker is not done; the tour goes on with what there is", file=sys.stderr)


def opened(command):
    """Opens the page; returns its process and link."""
    web = subprocess.Popen(command + ["web", "--json"], stdout=subprocess.PIPE)
    return web, json.loads(web.stdout.readline())["link"]


def first_page_ms(command):
    """The time of the first page after opening."""
    web, link = opened(command)
    try:
        address = urllib.parse.urlsplit(link)
        browser = http.client.HTTPConnection(address.netloc)
        browser.request("GET", f"{address.path}?{address.query}")
        entered = browser.getresponse()
        entered.read()
        cookie = entered.headers["set-cookie"].split(";")[0]
        begun = time.perf_counter()
        browser.request("GET", "/", headers={"cookie": cookie})
        page = browser.getresponse()
        page.read()
        assert page.status == 200, page.status
        return (time.perf_counter() - begun) * 1000
    finally:
        web.terminate()
        web.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cerebro", required=True)
    parser.add_argument("--memories", type=int, default=2000)
    parser.add_argument("--loads", type=int, default=40, help="loads of the first page that are timed")
    parser.add_argument("--pictures", action="store_true", help="write the README's pictures into docs/screens")
    parser.add_argument("--keep", help="folder for all pictures")
    options = parser.parse_args()
    browser, modules = chromium(), install()
    with tempfile.TemporaryDirectory(prefix="cerebro-web-") as folder:
        work = Path(folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = work / "home"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text('[embeddings]\nprovider = "openai"\nmodel = "tour"\n'
            f'base_url = "http://127.0.0.1:{server.server_port}/v1"\ndimension = {DIMENSION}\n')
        command = [str(Path(options.cerebro).resolve()), "--home", str(home)]
        os.environ.update(HOME=str(work), OPENAI_API_KEY="none")
        web, agents = None, []
        try:
            subject, agents = furnish(command, options.memories, work)
            tell_of_the_past(command, work)
            subprocess.run(command + ["ingest", ROOT / "docs/decisions", "--project", "acme/payments"], check=True,
                stdout=subprocess.DEVNULL)
            subprocess.run(command + ["consolidate", "--plan"], check=True, stdout=subprocess.DEVNULL)
            if options.memories <= WAITED_MAX:
                wait_for_vectors(command)
            else:
                # So that the times are those of the page, and not of a busy worker.
                subprocess.run(command + ["worker", "pause"], check=True, stdout=subprocess.DEVNULL)
            took = sorted(first_page_ms(command) for _ in range(OPENINGS))
            print(f"first page of {options.memories} memories, just opened: p50 {took[OPENINGS // 2]:.1f} ms, "
                f"at most {took[-1]:.1f} ms")
            # The tour goes on: what a page looks like does not depend on how busy the machine is.
            is_slow = took[OPENINGS // 2] > FIRST_MS_MAX
            if is_slow:
                print(f"FAILED: the first page takes more than {FIRST_MS_MAX} ms")
            web, link = opened(command)
            plan = {"link": link, "subject": subject, "chromium": browser, "profile": str(work / "profile"),
                "loads": options.loads, "memories": options.memories, "paused": options.memories > WAITED_MAX,
                "axe": str(modules / "node_modules/axe-core/axe.min.js"),
                "puppeteer": str(modules / "node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js"),
                "keep": options.keep and str(Path(options.keep).resolve()),
                "pictures": str(ROOT / "docs/screens") if options.pictures else None}
            (work / "plan.json").write_text(json.dumps(plan))
            toured = subprocess.run(["node", HERE / "tour.mjs", work / "plan.json"])
            sys.exit(toured.returncode or int(is_slow))
        finally:
            if web:
                web.terminate()
                web.wait()
            for agent in agents:
                agent.process.terminate()
            subprocess.run(command + ["daemon", "stop"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            server.shutdown()


if __name__ == "__main__":
    main()
