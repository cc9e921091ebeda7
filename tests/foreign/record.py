#!/usr/bin/env python3
"""Records what other memory servers really write, for tests/it/import_foreign.rs.

    tests/foreign/record.py [server-memory|claude-mem]

Each program is installed from npm, at its pinned version, into a temporary folder and driven as its users
drive it; what it leaves on disk is put beside this script:

server-memory.jsonl   after its own tools were called over stdio: entities with observations, one added
                      later, one entity deleted again, relations
claude-mem.sql        its tables as its worker (under bun) made them, and the rows that the worker stored
                      when they were posted to its import endpoint
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SERVER_MEMORY = "@modelcontextprotocol/server-memory@2026.8.31"
CLAUDE_MEM = "claude-mem@13.25.3"
BUN = "bun@1.4.5"
ZOD = "zod@3.25.76"
PORT = 37977
HERE = Path(__file__).resolve().parent

CALLS = [
    ("create_entities", {"entities": [
        {"name": "payment-service", "entityType": "component",
         "observations": ["Charges cards through the albatross gateway", "Owned by the harbour team"]},
        {"name": "albatross", "entityType": "gateway", "observations": ["Times out after 30 s"]},
        {"name": "Zoë Ñandú", "entityType": "person", "observations": ["Prefers \"small\" commits\nand tests"]},
        {"name": "scratch", "entityType": "note", "observations": ["Will be deleted"]},
        {"name": "empty", "entityType": "idea", "observations": []},
    ]}),
    ("create_relations", {"relations": [
        {"from": "payment-service", "to": "albatross", "relationType": "depends_on"},
        {"from": "Zoë Ñandú", "to": "payment-service", "relationType": "maintains"},
    ]}),
    ("add_observations", {"observations": [
        {"entityName": "albatross", "contents": ["Retries are idempotent"]},
    ]}),
    ("delete_entities", {"entityNames": ["scratch"]}),
]


TABLES = ["sdk_sessions", "observations", "session_summaries", "user_prompts"]
MOMENT = {"created_at": "2026-01-02T03:04:05.000Z", "created_at_epoch": 1767323045000}
MEMORIES = {
    "sessions": [{
        "content_session_id": "5c0ffee5-0000-4000-8000-000000000001", "memory_session_id": "mem-1",
        "project": "Harbour Cranes", "user_prompt": "Fix the crane", "started_at": "2026-01-02T03:00:00.000Z",
        "started_at_epoch": 1767322800000, "completed_at": "2026-01-02T04:00:00.000Z",
        "completed_at_epoch": 1767326400000, "status": "completed",
    }],
    "observations": [
        {"memory_session_id": "mem-1", "project": "Harbour Cranes", "text": None, "type": "bugfix",
         "title": "Crane stopped at the cormorant limit", "subtitle": "The limit was read in feet",
         "facts": "[\"limit is 40 m\",\"sensor reports feet\"]", "narrative": "The sensor's unit was assumed.",
         "concepts": "[\"problem-solution\",\"units\"]", "files_read": "[\"src/sensor.ts\"]",
         "files_modified": "[\"src/limit.ts\"]", "prompt_number": 1, "discovery_tokens": 10, **MOMENT},
        {"memory_session_id": "mem-1", "project": "Harbour Cranes", "text": "An old entry with a text only",
         "type": "discovery", "title": None, "subtitle": None, "facts": None, "narrative": None,
         "concepts": None, "files_read": None, "files_modified": None, "prompt_number": 1,
         "discovery_tokens": 0, **MOMENT},
    ],
    "summaries": [{
        "memory_session_id": "mem-1", "project": "Harbour Cranes", "request": "Fix the crane",
        "investigated": "The sensor", "learned": "It reports feet", "completed": "Converted to metres",
        "next_steps": None, "files_read": None, "files_edited": None, "notes": None, "prompt_number": 1,
        "discovery_tokens": 0, **MOMENT,
    }],
    "prompts": [{
        "content_session_id": "5c0ffee5-0000-4000-8000-000000000001", "prompt_number": 1,
        "prompt_text": "Fix the crane", **MOMENT,
    }],
}


def main() -> None:
    wanted = sys.argv[1:] or ["server-memory", "claude-mem"]
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            {"server-memory": server_memory, "claude-mem": claude_mem}[name](Path(folder))


def install(place: Path, package: str) -> None:
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), package],
                   check=True)


def server_memory(place: Path) -> None:
    install(place, SERVER_MEMORY)
    file = place / "memory.jsonl"
    program = place / "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    server = subprocess.Popen(["node", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "MEMORY_FILE_PATH": str(file)})
    speak(server)
    server.stdin.close()
    server.wait(timeout=20)
    (HERE / "server-memory.jsonl").write_bytes(file.read_bytes())
    print(f"server-memory.jsonl is written by {SERVER_MEMORY}")


def claude_mem(place: Path) -> None:
    install(place, BUN)
    # The only dependency of its package that its worker needs.
    install(place, ZOD)
    subprocess.run(["npm", "pack", "--silent", CLAUDE_MEM], cwd=place, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["tar", "xzf", *[path.name for path in place.glob("claude-mem-*.tgz")]], cwd=place, check=True)
    home = place / "home"
    data = home / ".claude-mem"
    data.mkdir(parents=True)
    environment = {**os.environ, "HOME": str(home), "CLAUDE_MEM_DATA_DIR": str(data),
                   "CLAUDE_MEM_WORKER_PORT": str(PORT), "CLAUDE_MEM_TELEMETRY": "0", "DO_NOT_TRACK": "1"}
    worker = place / "package/plugin/scripts/worker-service.cjs"
    process = subprocess.Popen([str(place / "node_modules/.bin/bun"), str(worker), "--daemon"], env=environment,
                               stdout=subprocess.DEVNULL)
    try:
        print("claude-mem:", post(f"http://127.0.0.1:{PORT}/api/import", MEMORIES))
    finally:
        process.terminate()
        process.wait(timeout=20)
    db = sqlite3.connect(data / "claude-mem.db")
    lines = [f"-- Made by {CLAUDE_MEM}; see record.py."]
    for table in TABLES:
        lines += [sql + ";" for (sql,) in db.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))]
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        values = " || ', ' || ".join(f"quote({name})" for name in names)
        lines += [f"INSERT INTO {table} ({', '.join(names)}) VALUES ({row});" for (row,) in db.execute(
            f"SELECT {values} FROM {table}")]
    (HERE / "claude-mem.sql").write_text("\n".join(lines) + "\n")


def post(url: str, body: dict) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(300):
        try:
            with direct.open(request, timeout=10) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise RuntimeError(error.read().decode()) from error
        except OSError:
            pass
        time.sleep(0.3)
    raise RuntimeError(f"{url} did not answer")


def speak(server: subprocess.Popen) -> None:
    def send(message: dict) -> None:
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()

    def ask(number: int, method: str, params: dict) -> dict:
        send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            answer = json.loads(server.stdout.readline())
            if answer.get("id") == number:
                assert "error" not in answer and not answer["result"].get("isError"), answer
                return answer["result"]

    ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                          "clientInfo": {"name": "record", "version": "1"}})
    send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for number, (tool, arguments) in enumerate(CALLS, start=2):
        ask(number, "tools/call", {"name": tool, "arguments": arguments})


if __name__ == "__main__":
    main()
