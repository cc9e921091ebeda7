"""A model server of our own: an agent that asks it makes the calls of a script, and then ends.

It keeps what each request showed, so that a test can tell what a real model would have seen. It has
no state of its own between requests: the number of tool results in a request says how far it is.
"""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dialects import DIALECTS, Call, Seen

DONE = "Saved and found."


@dataclass
class Step:
    """One tool call of the script; `before` is done first, while the agent waits for its model."""

    tool: str
    arguments: dict
    before: object = None


class Model:
    """Serves on 127.0.0.1 until `stop`."""

    def __init__(self, script):
        self.script = script
        self.tokens = 10  # how long it says that the conversation is
        self.seen = []
        self.unknown = []
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def reply(self, seen: Seen):
        """The next step of the script; a request without our tools (a title, a summary) gets a text."""
        number = len(seen.results)
        if "mem_save" not in seen.tools or number >= len(self.script):
            return DONE
        step = self.script[number]
        if step.before:
            step.before()
        return Call(seen.tools[step.tool], step.arguments, number)

    def note(self, seen):
        with self.lock:
            self.seen.append(seen)

    @property
    def offered(self):
        """Bare names of Cerebro's tools that the model could call at once."""
        return sorted({name for seen in self.seen for name in seen.tools})

    @property
    def results(self):
        """Results of the turn, as the model got them: those of the request with the most."""
        return max((seen.results for seen in self.seen if seen.tools), key=len, default=[])


def handler(model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.answer(200, "application/json", ['{"data": [], "models": []}'])

        do_HEAD = do_GET

        def do_POST(self):
            body = self.body()
            path = self.path.split("?")[0]
            dialect = next((each for each in DIALECTS if path.endswith(each.path)), None)
            if dialect is None:
                model.unknown.append(f"POST {path}")
                self.answer(200, "application/json", ['{"input_tokens": 10, "totalTokens": 10}'])
                return
            body["_streamed"] = "alt=sse" in self.path or bool(body.get("stream"))
            seen = dialect.read(body)
            model.note(seen)
            kind = "text/event-stream" if body["_streamed"] else "application/json"
            reply = model.reply(seen)
            body["_tokens"] = model.tokens
            self.answer(200, kind, dialect.write(reply, body))

        def body(self):
            length = int(self.headers.get("content-length") or 0)
            try:
                return json.loads(self.rfile.read(length) or b"{}")
            except ValueError:
                return {}

        def answer(self, status, kind, parts):
            data = "".join(parts).encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    return Handler
