"""The four wire formats agents speak to their models, as far as scripted turns need them.

A dialect reads a request into a `Seen` (tools offered, results sent back) and writes a reply, which
is either a `Call` of a tool or a plain text, as the stream of events that its clients expect. `_tokens` in
a body is how long the model says that the conversation is.
"""

import json
from dataclasses import dataclass, field


@dataclass
class Seen:
    """What one request showed the model."""

    tools: dict = field(default_factory=dict)  # bare name of a tool of ours -> the name to call it by
    own: dict = field(default_factory=dict)  # name of one of the agent's own tools -> the name to call it by
    results: list = field(default_factory=list)  # texts of the tool results, in order
    text: str = ""  # the whole request, for what has no field of its own

    def offer(self, name, called):
        """Records a tool that the agent offers."""
        own = bare(name)
        (self.tools if own else self.own)[own or name] = called


@dataclass
class Call:
    """A tool call that the model makes."""

    name: str
    arguments: dict
    number: int  # of this conversation, from 0

    @property
    def id(self):
        return f"call_{self.number}"


def bare(name):
    """`mcp__cerebro__mem_save`, `cerebro_mem_save` -> `mem_save`; other servers' tools -> None."""
    return name[name.index("mem_"):] if "mem_" in name else None


def texts(content):
    """The text of a content field that is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


def sse(events):
    """Server-sent events: pairs of event name (or None) and data."""
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data)
        yield (f"event: {name}\n" if name else "") + f"data: {text}\n\n"


class Anthropic:
    """POST /v1/messages, streamed. Used by Claude Code."""

    path = "/v1/messages"

    def read(self, body):
        seen = Seen(text=json.dumps(body))
        for tool in body.get("tools", []):
            seen.offer(tool.get("name", ""), tool.get("name", ""))
        for message in body.get("messages", []):
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_result":
                    seen.results.append(texts(block.get("content")))
        return seen

    def write(self, reply, body):
        message = {
            "id": "msg_mock", "type": "message", "role": "assistant", "model": body.get("model", "mock"),
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": body["_tokens"], "output_tokens": 1},
        }
        if isinstance(reply, Call):
            reason = "tool_use"
            block = {"type": "tool_use", "id": "toolu_" + reply.id, "name": reply.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
        else:
            reason = "end_turn"
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": reply}
        end = {"stop_reason": reason, "stop_sequence": None}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        return sse((event["type"], event) for event in events)


class Responses:
    """POST /v1/responses, streamed. Used by Codex; MCP tools come in a namespace."""

    path = "/v1/responses"

    def read(self, body):
        seen = Seen(text=json.dumps(body))
        for tool in self.offered(body):
            self.note(seen, tool, None)
        for item in body.get("input", []):
            if item.get("type") in ("function_call_output", "custom_tool_call_output"):
                seen.results.append(texts(item.get("output")))
        return seen

    def offered(self, body):
        """Tools are in `tools`, or in an item of the input that adds tools."""
        added = [item.get("tools", []) for item in body.get("input", []) if item.get("tools")]
        return sum(added, list(body.get("tools") or []))

    def note(self, seen, tool, namespace):
        for inner in tool.get("tools", []):
            self.note(seen, inner, tool.get("name"))
        if tool.get("type") in ("function", "custom"):
            seen.offer(tool.get("name", ""), (namespace, tool["name"], tool["type"]))

    def write(self, reply, body):
        if isinstance(reply, Call):
            namespace, name, kind = reply.name
            item = {"id": "fc_" + reply.id, "call_id": reply.id, "name": name, "status": "completed"}
            if kind == "custom":
                item |= {"type": "custom_tool_call", "input": reply.arguments}
            else:
                item |= {"type": "function_call", "arguments": json.dumps(reply.arguments)}
            if namespace:
                item["namespace"] = namespace
        else:
            content = [{"type": "output_text", "text": reply, "annotations": []}]
            item = {"type": "message", "id": "msg_mock", "role": "assistant", "content": content}
        usage = {
            "input_tokens": body["_tokens"], "output_tokens": 5, "total_tokens": body["_tokens"] + 5,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        response = {"id": "resp_mock", "object": "response", "output": []}
        done = response | {"status": "completed", "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        return sse((event["type"], event) for event in events)


class Chat:
    """POST /v1/chat/completions, streamed. Used by OpenCode through its compatible provider."""

    path = "/v1/chat/completions"

    def read(self, body):
        seen = Seen(text=json.dumps(body))
        for tool in body.get("tools", []):
            called = tool.get("function", {}).get("name", "")
            seen.offer(called, called)
        for message in body.get("messages", []):
            if message.get("role") == "tool":
                seen.results.append(texts(message.get("content")))
        return seen

    def write(self, reply, body):
        if isinstance(reply, Call):
            function = {"name": reply.name, "arguments": json.dumps(reply.arguments)}
            call = {"index": 0, "id": reply.id, "type": "function", "function": function}
            delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        else:
            delta, reason = {"role": "assistant", "content": reply}, "stop"

        def chunk(delta, reason=None, **more):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            head = {"id": "chat_mock", "object": "chat.completion.chunk", "created": 0, "model": "mock"}
            return None, head | {"choices": [choice]} | more

        tokens = body["_tokens"]
        usage = {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}
        return sse([chunk(delta), chunk({}, reason, usage=usage), (None, "[DONE]")])


class Gemini:
    """POST /v1beta/models/NAME:streamGenerateContent or :generateContent. Used by Gemini CLI."""

    path = "enerateContent"

    def read(self, body):
        seen = Seen(text=json.dumps(body))
        for tool in body.get("tools", []):
            for function in tool.get("functionDeclarations", []):
                seen.offer(function["name"], function["name"])
        for content in body.get("contents", []):
            for part in content.get("parts", []):
                if "functionResponse" in part:
                    response = part["functionResponse"].get("response", {})
                    seen.results.append(response.get("output") or json.dumps(response))
        return seen

    def write(self, reply, body):
        if isinstance(reply, Call):
            part = {"functionCall": {"id": reply.id, "name": reply.name, "args": reply.arguments}}
        else:
            part = {"text": reply}
        tokens = body["_tokens"]
        usage = {"promptTokenCount": tokens, "candidatesTokenCount": 5, "totalTokenCount": tokens + 5}
        content = {"role": "model", "parts": [part]}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "mock"}
        if body.get("_streamed"):
            return sse([(None, answer)])
        return [json.dumps(answer)]


DIALECTS = [Anthropic(), Responses(), Chat(), Gemini()]
