"""Stands between an agent and `cerebro mcp` and keeps a copy of every line.

    tap.py LOG PROGRAM ARGUMENT...

The log is JSON Lines. The first line tells how the agent started its server: working folder, names
of the environment's variables. Each other line is one message: `at` in milliseconds since the start,
`from` ("client", "server" or "errors"), and the message as it was. Bytes pass through unchanged.
"""

import json
import os
import subprocess
import sys
import threading
import time

STARTED = time.monotonic()


class Log:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")
        self.lock = threading.Lock()

    def write(self, entry):
        with self.lock:
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()


def carry(log, name, source, target):
    """Copies lines until the source ends, and then closes the target."""
    try:
        for line in source:
            at = round((time.monotonic() - STARTED) * 1000, 1)
            log.write({"at": at, "from": name, "line": line.decode("utf-8", "replace").rstrip("\n")})
            target.write(line)
            target.flush()
    except (BrokenPipeError, ValueError):
        pass
    finally:
        if name == "client":
            target.close()


def main():
    log = Log(sys.argv[1])
    log.write({"cwd": os.getcwd(), "env": sorted(os.environ), "pid": os.getpid()})
    pipe = subprocess.PIPE
    server = subprocess.Popen(sys.argv[2:], stdin=pipe, stdout=pipe, stderr=pipe)
    ways = [
        ("client", sys.stdin.buffer, server.stdin),
        ("server", server.stdout, sys.stdout.buffer),
        ("errors", server.stderr, sys.stderr.buffer),
    ]
    for name, source, target in ways:
        threading.Thread(target=carry, args=(log, name, source, target), daemon=True).start()
    code = server.wait()
    log.write({"at": round((time.monotonic() - STARTED) * 1000, 1), "exit": code})
    sys.stdout.flush()
    os._exit(max(code, 0))


if __name__ == "__main__":
    main()
