"""The servers: how each is started, told a memory and asked a question, the way its own documents say.

A memory is one save call with the same text everywhere. Where a server knows a way to keep projects apart
(projects, wings, tags), a scope of the set is one, and a question is asked inside it."""

import json
import os
import re
import subprocess

import install
from client import text_of


class Contender:
    """What one server needs; the memories it knows are found again by the id that it gave them."""

    name = version = meaning = ""
    otherwise = None

    def __init__(self, home):
        self.home = home
        self.ids = {}

    def command(self):
        """Installs and prepares what is needed; gives the command line."""
        raise NotImplementedError

    def env(self):
        return {}

    def save(self, memory):
        """The tool and its arguments that save a memory."""
        raise NotImplementedError

    def saved(self, memory, result):
        """Notes the id that the server gave to a memory."""
        raise NotImplementedError

    def search(self, query, scope):
        """The tool and its arguments that search."""
        raise NotImplementedError

    def search_otherwise(self, query, scope):
        """Another way to search that it has and that may find more; `otherwise` names it."""
        raise NotImplementedError

    def hits(self, result):
        """The server's ids of what was found, the best first."""
        raise NotImplementedError

    def found(self, result):
        """What was found as ids of the set."""
        return [self.ids[hit] for hit in self.hits(result) if hit in self.ids]

    def waiting(self, client):
        """How many saves are not worked off yet, of a server that does so behind the answer."""
        return 0

    def stop(self):
        """Ends what stays behind when the agent's connection ends."""


class Cerebro(Contender):
    """Cerebro without a model: search by words."""

    name = "Cerebro, words"
    meaning = "no"

    def command(self):
        self.program = os.path.abspath(os.environ["CEREBRO"])
        said = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True)
        self.version = said.stdout.split()[-1]
        return [self.program, "mcp"]

    def save(self, memory):
        arguments = {"title": memory["text"][:80], "content": memory["content"], "project": memory["scope"]}
        if "session" in memory:
            arguments["session_id"] = f"{memory['scope']}/{memory['session']}"
        return "mem_save", arguments

    def saved(self, memory, result):
        self.ids[result["structuredContent"]["id"]] = memory["id"]

    def search(self, query, scope):
        return "mem_search", {"query": query, "project": scope, "limit": 10}

    def hits(self, result):
        return [hit["id"] for hit in result["structuredContent"]["hits"]]

    def stop(self):
        subprocess.run([self.program, "daemon", "stop"], env={**os.environ, "HOME": str(self.home)},
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)


class CerebroVectors(Cerebro):
    """Cerebro with the model."""

    name = "Cerebro, words and vectors"
    meaning = "MiniLM int8"

    def command(self):
        folder = self.home / ".cerebro"
        folder.mkdir(mode=0o700)
        for part in ("models", "runtime"):
            (folder / part).symlink_to(install.model_files() / part)
        (folder / "config.toml").write_text('[embeddings]\nmodel = "all-minilm-l6-v2"\n')
        return super().command()

    def waiting(self, client):
        result, _ = client.call("mem_stats", {})
        worker = result["structuredContent"]["worker"]
        if worker["state"] in ("off", "disagrees", "unusable") or worker["dead"]:
            raise install.Missing(f"the worker makes no vectors: {worker}")
        return worker["queue_depth"]


class ServerMemory(Contender):
    """The reference server of the protocol: entities with observations in one JSON Lines file."""

    name = "server-memory"
    version = install.SERVER_MEMORY
    meaning = "no"
    otherwise = "longest word"

    def command(self):
        folder = install.npm("@modelcontextprotocol/server-memory", self.version)
        return ["node", str(folder / "dist/index.js")]

    def env(self):
        return {"MEMORY_FILE_PATH": str(self.home / "memory.jsonl")}

    def save(self, memory):
        return "create_entities", {"entities": [{
            "name": memory["id"], "entityType": memory["scope"], "observations": [memory["content"]]}]}

    def saved(self, memory, result):
        self.ids[memory["id"]] = memory["id"]

    def search(self, query, scope):
        return "search_nodes", {"query": query}

    def search_otherwise(self, query, scope):
        # It looks for the query as a substring; an agent that knows this gives it one word.
        return "search_nodes", {"query": max(re.findall(r"[\w']+", query), key=len, default=query)}

    def hits(self, result):
        return [entity["name"] for entity in result["structuredContent"]["entities"]][:10]


class MemoryService(Contender):
    """mcp-memory-service with its default store (SQLite and sqlite-vec) and its own ONNX embedding."""

    name = "mcp-memory-service"
    version = install.MEMORY_SERVICE
    meaning = "MiniLM int8"
    otherwise = "hybrid mode"
    hash = re.compile(r"\b[0-9a-f]{64}\b")

    def command(self):
        programs = install.pip(f"mcp-memory-service-{self.version}", f"mcp-memory-service=={self.version}",
                               f"onnxruntime=={install.ONNXRUNTIME}", f"tokenizers=={install.TOKENIZERS}",
                               extensions=True)
        install.link_model(self.home, ".cache/mcp_memory/onnx_models/all-MiniLM-L6-v2/onnx")
        return [str(programs / "memory"), "server"]

    def env(self):
        return {"MCP_MEMORY_USE_ONNX": "1", "MCP_MEMORY_ONNX_ALLOW_DOWNLOAD": "0"}

    def save(self, memory):
        # Without a conversation's id it refuses what is near to something saved before.
        return "memory_store", {"content": memory["content"], "metadata": {"tags": memory["scope"]},
                                "conversation_id": f"{memory['scope']}/{memory.get('session', 0)}"}

    def saved(self, memory, result):
        self.ids[self.hash.search(text_of(result)).group()] = memory["id"]

    def search(self, query, scope):
        return "memory_search", {"query": query, "tags": [scope], "limit": 10}

    def search_otherwise(self, query, scope):
        tool, asked = self.search(query, scope)
        return tool, asked | {"mode": "hybrid"}

    def hits(self, result):
        return self.hash.findall(text_of(result))


class Mempalace(Contender):
    """MemPalace with its default store (Chroma): a wing for each scope, a room for each session."""

    name = "mempalace"
    version = install.MEMPALACE
    meaning = "MiniLM int8"
    otherwise = "union candidates"

    def command(self):
        programs = install.pip(f"mempalace-{self.version}", f"mempalace=={self.version}",
                               f"onnxruntime=={install.ONNXRUNTIME}", f"tokenizers=={install.TOKENIZERS}")
        folder = install.link_model(self.home, ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx")
        # Chroma fetches everything anew unless these are there too; it reads none of them.
        for name in ("config.json", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt"):
            (folder / name).touch()
        return [str(programs / "mempalace-mcp")]

    def save(self, memory):
        return "mempalace_add_drawer", {"wing": memory["scope"], "content": memory["content"],
                                        "room": f"session-{memory.get('session', 0)}"}

    def saved(self, memory, result):
        self.ids[json.loads(text_of(result))["drawer_id"]] = memory["id"]

    def search(self, query, scope):
        return "mempalace_search", {"query": query[:250], "wing": scope, "limit": 10}

    def search_otherwise(self, query, scope):
        tool, asked = self.search(query, scope)
        return tool, asked | {"candidate_strategy": "union"}

    def hits(self, result):
        return [hit["drawer_id"] for hit in json.loads(text_of(result))["results"]]


ALL = {
    "cerebro-vectors": CerebroVectors,
    "cerebro-words": Cerebro,
    "mempalace": Mempalace,
    "mcp-memory-service": MemoryService,
    "server-memory": ServerMemory,
}
