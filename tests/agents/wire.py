"""Reads what `tap.py` recorded: how the agent started the server, and the messages of both sides."""

import json


class Wire:
    """One or more connections of one agent; an agent may connect several times in a turn."""

    def __init__(self, path):
        self.cwd, self.env, self.errors, self.faults = None, [], [], []
        self.tools, self.listed_at, self.era = [], 0.0, "none"
        self.asked, self.answers = {}, []  # answers: the results of the tool calls, in order
        for line in path.read_text().splitlines() if path.is_file() else []:
            self.entry(json.loads(line))

    def entry(self, entry):
        if "cwd" in entry:
            self.cwd, self.env, self.asked = entry["cwd"], entry["env"], {}
        elif entry.get("from") == "errors":
            self.errors.append(entry["line"])
        elif entry.get("from") == "client":
            self.request(json.loads(entry["line"]))
        elif entry.get("from") == "server":
            self.answer(json.loads(entry["line"]), entry["at"])

    def request(self, message):
        method, params = message.get("method"), message.get("params") or {}
        if "id" in message and method:
            self.asked[message["id"]] = (method, params)
        if method == "tools/list":
            spoken = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
            self.era = spoken or self.era

    def answer(self, message, at):
        method, params = self.asked.pop(message.get("id"), (None, {}))
        if "error" in message:
            self.faults.append(f"{method}: {json.dumps(message['error'])}")
            return
        result = message.get("result") or {}
        if method == "initialize":
            self.era = result["protocolVersion"]
        elif method == "tools/list" and not self.tools:
            self.tools, self.listed_at = [tool["name"] for tool in result["tools"]], at
        elif method == "tools/call":
            self.answers.append(result)
