#!/usr/bin/env python3
"""Cerebro beside other memory servers: the same memories and questions through MCP over stdio, one run.

    benches/peers/run.py DATA [--only NAME,…] [--memories 1000] [--questions 200] [--json FILE] [--report]

DATA is a folder with `memories.jsonl` and `queries.jsonl`. The peers are installed once, at pinned versions,
into $CEREBRO_PEERS (by default ~/.cache/cerebro/peers). CEREBRO is the program to measure. Each server has a
throw-away home, is alone while it is measured, and is ended afterwards. With --json, results are kept by name
and a later run adds to them; --report prints what is kept and measures nothing.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True  # leaves nothing behind in the checkout

import contenders
import corpus
import install
import machine
import report
from client import Client, Failure

SEARCHABLE_SECONDS = 600  # longest wait for the last memory to be found, and for the queue behind it
FOUND_POLL_SECONDS = 0.02
QUEUE_POLL_SECONDS = 1.0  # seldom: what works off a queue gives way to calls
STARTS = 3  # how often a start is measured
KEPT_ENV = ("PATH", "LANG", "TERM", "TMPDIR")


def main():
    options = arguments()
    path = Path(options.json) if options.json else None
    kept = json.loads(path.read_text()) if path and path.is_file() else {"results": {}}
    if not options.report:
        memories, questions = corpus.load(options.data, options.memories, options.questions)
        kept["set"] = Path(options.data).name
        kept["memories"], kept["questions"] = len(memories), len(questions)
        for name in options.only:
            print(f"{name} …", file=sys.stderr)
            kept["results"][name] = attempt(contenders.ALL[name], memories, questions)
            if path:
                path.write_text(json.dumps(kept, indent=1) + "\n")
        kept["machine"] = machine.line()
        if path:
            path.write_text(json.dumps(kept, indent=1) + "\n")
    print(report.markdown(kept, list(contenders.ALL)))
    return 1 if any("failed" in result for result in kept["results"].values()) else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--only", type=lambda names: names.split(","), default=list(contenders.ALL))
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    unknown = set(options.only) - set(contenders.ALL)
    if unknown:
        parser.error(f"no server {', '.join(unknown)}; known: {', '.join(contenders.ALL)}")
    return options


def attempt(kind, memories, questions):
    """Measures one server in a home of its own; what keeps it from running is its result."""
    home = Path(tempfile.mkdtemp(prefix="peers-"))
    contender = kind(home)
    facts = {"name": contender.name, "version": contender.version, "meaning": contender.meaning}
    try:
        return facts | measure(contender, memories, questions) | {"version": contender.version}
    except (Failure, install.Missing, OSError, LookupError, ValueError, AttributeError) as error:
        log = home / "stderr.log"
        said = log.read_text(errors="replace")[-600:] if log.is_file() else ""
        print(f"{contender.name}: {error}\n{said}", file=sys.stderr)
        return facts | {"failed": f"{type(error).__name__}: {error}"}
    finally:
        contender.stop()
        machine.end_all(home)
        shutil.rmtree(home, ignore_errors=True)


def measure(contender, memories, questions):
    command = contender.command()
    env = {name: os.environ[name] for name in KEPT_ENV if name in os.environ}
    env |= {"HOME": str(contender.home)} | contender.env()

    def start():
        return Client(command, env, contender.home, contender.home / "stderr.log")

    client = start()
    _, first_start = client.open()
    saves = save_all(client, contender, memories)
    found_after, drained_after = searchable(client, contender, memories[-1])
    asked = ask_all(client, contender, questions, contender.search)
    other = contender.otherwise and ask_all(client, contender, questions, contender.search_otherwise)
    resident = machine.resident_bytes(contender.home)
    client.close()
    starts, first_searches = restarts(start, contender, questions)
    contender.stop()
    machine.end_all(contender.home)
    return {
        "save_ms": spread(saves),
        "save_seconds": sum(saves), "found_seconds": found_after, "drained_seconds": drained_after,
        "first_start_seconds": first_start, "start_seconds": statistics.median(starts),
        "first_search_seconds": statistics.median(first_searches),
        "resident_bytes": resident, "disk_bytes": machine.disk_bytes(contender.home),
        "otherwise": other and other | {"how": contender.otherwise},
    } | asked


def save_all(client, contender, memories):
    took = []
    for memory in memories:
        result, seconds = client.call(*contender.save(memory))
        contender.saved(memory, result)
        took.append(seconds)
    return took


def searchable(client, contender, memory):
    """Seconds from the last save's answer until its memory is found by its own text, and until nothing waits."""
    begun = time.perf_counter()

    def wait(seconds, holds):
        while time.perf_counter() < begun + SEARCHABLE_SECONDS:
            if holds():
                return time.perf_counter() - begun
            time.sleep(seconds)
        return None

    def is_found():
        result, _ = client.call(*contender.search(memory["text"][:250], memory["scope"]))
        return memory["id"] in contender.found(result)

    return wait(FOUND_POLL_SECONDS, is_found), wait(QUEUE_POLL_SECONDS, lambda: contender.waiting(client) == 0)


def ask_all(client, contender, questions, search):
    """How long the searches took, and the recall at 5 and 10 averaged over the questions."""
    took, at_5, at_10 = [], [], []
    for question in questions:
        result, seconds = client.call(*search(question["query"], question["scope"]))
        found = contender.found(result)
        took.append(seconds)
        at_5.append(corpus.recall(found, question["gold"], 5))
        at_10.append(corpus.recall(found, question["gold"], 10))
    return {"search_ms": spread(took), "r5": statistics.mean(at_5), "r10": statistics.mean(at_10)}


def restarts(start, contender, questions):
    """Starts the server on what it has stored: seconds to its tools, and of the first search after them."""
    starts, searches = [], []
    for question in questions[:STARTS]:
        contender.stop()
        machine.end_all(contender.home)
        client = start()
        _, seconds = client.open()
        starts.append(seconds)
        searches.append(client.call(*contender.search(question["query"], question["scope"]))[1])
        client.close()
    return starts, searches


def spread(seconds):
    """The middle and the slowest hundredth, in milliseconds."""
    ranked = sorted(seconds)
    return {"p50": statistics.median(ranked) * 1000, "p99": ranked[int(len(ranked) * 0.99)] * 1000}


if __name__ == "__main__":
    sys.exit(main())
