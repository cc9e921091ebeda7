"""An MCP client over stdio, as small as a measurement needs: one call at a time, each one timed."""

import json
import os
import select
import subprocess
import time

PROTOCOL = "2025-06-18"
CALL_SECONDS = 180  # no answer within it ends the run of this server


class Failure(Exception):
    """The server did not answer, or answered with an error."""


class Client:
    """One server process and its two pipes; what it says on stderr goes into `log`."""

    def __init__(self, command, env, folder, log):
        self.log = log
        self.buffer = b""
        self.last_id = 0
        self.started = time.perf_counter()
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=errors, start_new_session=True)

    def open(self):
        """The handshake and the list of tools; gives the tools and the seconds since the spawn."""
        self.request("initialize", {
            "protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": {"name": "peers", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed, _ = self.request("tools/list", {})
        return listed["tools"], time.perf_counter() - self.started

    def call(self, tool, arguments):
        """A tool's result and how many seconds it took."""
        result, seconds = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise Failure(f"{tool}: {json.dumps(result)[:300]}")
        return result, seconds

    def request(self, method, params):
        self.last_id += 1
        line = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        begun = time.perf_counter()
        self.send(line)
        while True:
            answer = self.read_line(begun + CALL_SECONDS)
            seconds = time.perf_counter() - begun
            message = json.loads(answer)
            if message.get("id") != self.last_id or "method" in message:
                continue  # a notification, or a request of the server's that we need not answer
            if "error" in message:
                raise Failure(f"{method}: {json.dumps(message['error'])[:300]}")
            return message["result"], seconds

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Failure(f"the server is gone ({error}); see {self.log}") from error

    def read_line(self, until):
        while b"\n" not in self.buffer:
            left = until - time.perf_counter()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failure(f"no answer within {CALL_SECONDS} s; see {self.log}")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                raise Failure(f"the server ended without an answer; see {self.log}")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def close(self):
        """Ends the server the way agents do: its input ends, then it is asked, then made to."""
        self.process.stdin.close()
        for end in (None, self.process.terminate, self.process.kill):
            if end:
                end()
            try:
                self.process.wait(10)
                break
            except subprocess.TimeoutExpired:
                continue
        self.process.stdout.close()


def text_of(result):
    """The text half of a tool's result."""
    return "\n".join(part.get("text", "") for part in result.get("content", []))
