"""Record genuine OTLP/JSON: real instrumentation of real SDKs, which talk to a server of this script on this machine.

Run by hand; the files are kept under tests/traces/data/otlp. Beside each stands what the server was asked and what it
answered, written by the server itself and so independent of every instrumentation and of every reader. Three venvs,
since not all of these packages go together:

    V1: anthropic openai opentelemetry-exporter-otlp-json-file
        openinference-instrumentation-anthropic openinference-instrumentation-openai
        opentelemetry-instrumentation-anthropic opentelemetry-instrumentation-openai
        opentelemetry-instrumentation-genai-anthropic opentelemetry-instrumentation-genai-openai (both --pre)
    V2: openai httpx opentelemetry-exporter-otlp-json-file
        opentelemetry-instrumentation-openai-v2==2.4b0 'opentelemetry-util-genai<1'
    V3: anthropic==0.57.1 openai opentelemetry-exporter-otlp-json-file
        opentelemetry-instrumentation-anthropic==0.40.14 opentelemetry-instrumentation-openai==0.40.14

    V1/bin/python tests/bench/record_otlp.py tests/traces/data/otlp
    V2/bin/python tests/bench/record_otlp.py tests/traces/data/otlp openai_v2_latest openai_v2_events \\
        openai_v2_no_content
    V3/bin/python tests/bench/record_otlp.py tests/traces/data/otlp anthropic_openllmetry_indexed \\
        openai_openllmetry_indexed

Two runs of an agent. Run 1: a call, two calls at once, a stop. Run 2: a streamed call; a server error, which the agent
meets by asking again; a stop; another question, which is refused.
"""

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

SYSTEM = "You look after orders. Use the tools."
TOOLS = {
    "find_order": ("Finds an order by its number.", {"number": {"type": "string"}}),
    "weather": ("Tells the weather in a town.", {"town": {"type": "string"}}),
}
RESULTS = {"find_order": '{"state": "shipped", "town": "Leeds"}', "weather": "rain"}
#: What the model says, call by call: text, calls of tools, how it ends. An int is an HTTP error.
ONE: list[Any] = [
    {"text": "I look it up.", "calls": [("find_order", {"number": "A1"})], "end": "call"},
    {"text": "", "calls": [("weather", {"town": "Leeds"}), ("find_order", {"number": "A2"})], "end": "call"},
    {"text": "Both are on their way; it rains in Leeds.", "calls": [], "end": "stop"},
]
TWO: list[Any] = [
    {"text": "", "calls": [("find_order", {"number": "B7"})], "end": "call", "stream": True},
    500,
    {"text": "It has been shipped to Leeds.", "calls": [], "end": "stop"},
    {"text": "", "calls": [], "end": "refuse"},
]
QUESTIONS = ([["Where are A1 and A2, and how is the weather there?"]], [["Where is B7?"], ["Whose card paid for it?"]])


class Script:
    """The server's answers in order, and its own log of what it did."""

    def __init__(self, provider: str) -> None:
        self.provider, self.log = provider, list[dict[str, Any]]()
        self.steps = [(run, step) for run, steps in enumerate((ONE, TWO), start=1) for step in steps]

    def next(self) -> tuple[str, Any]:
        """Give the id and the step of the next answer, and log it."""
        number, (run, step) = len(self.log) + 1, self.steps[len(self.log)]
        answer_id = f"{'msg' if self.provider == 'anthropic' else 'chatcmpl'}_{number:03d}"
        entry: dict[str, Any] = {"run": run, "http_status": 200, "response_id": answer_id}
        if isinstance(step, int):
            entry = {"run": run, "http_status": step, "response_id": None, "ended": "error", "calls": []}
        else:
            entry["ended"] = {"call": "called", "stop": "stopped", "refuse": "refused"}[step["end"]]
            entry["calls"] = [{"tool": name, "args": args} for name, args in step["calls"]]
            entry["streamed"] = step.get("stream", False)
        self.log.append(entry)
        return answer_id, step


def anthropic_answer(answer_id: str, step: Any) -> dict[str, Any]:
    content: list[Any] = [{"type": "text", "text": step["text"]}] if step["text"] else []
    content += [
        {"type": "tool_use", "id": f"toolu_{answer_id}_{i}", "name": name, "input": args}
        for i, (name, args) in enumerate(step["calls"])
    ]
    return {
        "id": answer_id,
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": content,
        "stop_reason": {"call": "tool_use", "stop": "end_turn", "refuse": "refusal"}[step["end"]],
        "stop_sequence": None,
        "usage": {
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_read_input_tokens": 30,
            "cache_creation_input_tokens": 7,
        },
    }


def anthropic_events(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    start = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
    yield "message_start", {"message": start}
    for index, block in enumerate(answer["content"]):
        yield "content_block_start", {"index": index, "content_block": {**block, "input": {}}}
        text = json.dumps(block["input"])
        for part in (text[:5], text[5:]):
            yield "content_block_delta", {"index": index, "delta": {"type": "input_json_delta", "partial_json": part}}
        yield "content_block_stop", {"index": index}
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": end, "usage": {"output_tokens": 20}}
    yield "message_stop", {}


def openai_answer(answer_id: str, step: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": step["text"] or None}
    if step["calls"]:
        message["tool_calls"] = [
            {
                "id": f"call_{answer_id}_{i}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(args)},
            }
            for i, (name, args) in enumerate(step["calls"])
        ]
    finish = {"call": "tool_calls", "stop": "stop", "refuse": "content_filter"}[step["end"]]
    return {
        "id": answer_id,
        "object": "chat.completion",
        "created": 1764547200,
        "model": "gpt-4o-2024-08-06",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 137,
            "completion_tokens": 20,
            "total_tokens": 157,
            "prompt_tokens_details": {"cached_tokens": 30},
        },
    }


def openai_events(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    known = {key: answer[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = answer["choices"][0]
    for index, call in enumerate(choice["message"]["tool_calls"]):
        text = call["function"]["arguments"]
        first = {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": text[:5]}}
        for part in (first, {"index": index, "function": {"arguments": text[5:]}}):
            delta = {"role": "assistant", "tool_calls": [part]}
            yield "", {**known, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield "", {**known, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield "", {**known, "choices": [], "usage": answer["usage"]}


def serve(script: Script) -> ThreadingHTTPServer:
    """Start the server on a free port."""
    make, events = (
        (anthropic_answer, anthropic_events) if script.provider == "anthropic" else (openai_answer, openai_events)
    )

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            answer_id, step = script.next()
            if isinstance(step, int):
                error = {"type": "error", "error": {"type": "api_error", "message": "overloaded"}}
                return self.answer(step, "application/json", json.dumps(error))
            answer = make(answer_id, step)
            if not step.get("stream"):
                return self.answer(200, "application/json", json.dumps(answer))
            text = ""
            for name, event in events(answer):
                data = json.dumps({"type": name, **event} if name else event)
                text += (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
            return self.answer(200, "text/event-stream", text + ("" if name else "data: [DONE]\n\n"))

        def answer(self, status: int, kind: str, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class AnthropicAgent:
    """The agent over the Messages API."""

    def __init__(self, url: str) -> None:
        import anthropic

        self.client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
        self.error = anthropic.APIStatusError
        self.tools = [
            {"name": n, "description": d, "input_schema": {"type": "object", "properties": p, "required": list(p)}}
            for n, (d, p) in TOOLS.items()
        ]

    def ask(self, messages: list[Any], stream: bool) -> list[tuple[str, str]]:
        """Ask once; append the answer; give the (id, tool) of its calls."""
        asked = {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": SYSTEM, "tools": self.tools}
        if stream:
            with self.client.messages.stream(messages=list(messages), **asked) as events:
                for _ in events:
                    pass
                answer = events.get_final_message()
        else:
            answer = self.client.messages.create(messages=list(messages), **asked)
        blocks = [block.model_dump(include={"type", "text", "id", "name", "input"}) for block in answer.content]
        messages.append({"role": "assistant", "content": blocks})
        return [(block["id"], block["name"]) for block in blocks if block["type"] == "tool_use"]

    def tell(self, messages: list[Any], calls: list[tuple[str, str]]) -> None:
        """Append the results of calls."""
        blocks = [{"type": "tool_result", "tool_use_id": i, "content": RESULTS[name]} for i, name in calls]
        messages.append({"role": "user", "content": blocks})


class OpenaiAgent:
    """The agent over Chat Completions."""

    def __init__(self, url: str) -> None:
        import openai

        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        self.error = openai.APIStatusError
        self.tools = [
            {
                "type": "function",
                "function": {
                    "name": n,
                    "description": d,
                    "parameters": {"type": "object", "properties": p, "required": list(p)},
                },
            }
            for n, (d, p) in TOOLS.items()
        ]

    def ask(self, messages: list[Any], stream: bool) -> list[tuple[str, str]]:
        """Ask once; append the answer; give the (id, tool) of its calls."""
        asked = {
            "model": "gpt-4o",
            "tools": self.tools,
            "messages": [{"role": "system", "content": SYSTEM}, *messages],
        }
        create = self.client.chat.completions.create
        if stream:
            calls: dict[int, Any] = {}
            for chunk in create(stream=True, stream_options={"include_usage": True}, **asked):
                for part in chunk.choices[0].delta.tool_calls or [] if chunk.choices else []:
                    call = calls.setdefault(part.index, part.model_dump(include={"id", "type"}) | {"text": ""})
                    call["name"] = part.function.name or call.get("name")
                    call["text"] += part.function.arguments or ""
            found = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["text"]}}
                for c in calls.values()
            ]
            message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": found}
        else:
            answer = create(**asked).choices[0].message
            message = answer.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True)
        messages.append(message)
        return [(call["id"], call["function"]["name"]) for call in message.get("tool_calls", [])]

    def tell(self, messages: list[Any], calls: list[tuple[str, str]]) -> None:
        """Append the results of calls."""
        messages.extend({"role": "tool", "tool_call_id": i, "content": RESULTS[name]} for i, name in calls)


def run(agent: Any, questions: list[list[str]], steps: list[Any]) -> None:
    """One run: ask until no tool is called, then the next question; an error is met by asking again."""
    messages: list[Any] = []
    at = 0
    for (question,) in questions:
        messages.append({"role": "user", "content": question})
        while True:
            try:
                calls = agent.ask(messages, isinstance(steps[at], dict) and steps[at].get("stream", False))
            except agent.error:
                continue
            finally:
                at += 1
            if not calls:
                break
            agent.tell(messages, calls)


def _on(path: str, **more: Any) -> Callable[[], None]:
    """Switch an instrumentor on, given as `module:Class`."""
    module, name = path.split(":")
    return lambda: getattr(importlib.import_module(module), name)(**more).instrument()


def _nothing() -> None:
    """The SDK records by itself."""


LATEST = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
}
EVENT = LATEST | {
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "event_only",
    "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true",
}
OLDER = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
NATIVE = {"ANTHROPIC_OPEN_TELEMETRY": "true", "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content"}
#: name of the file -> provider, environment, how it is switched on, and the kind of span around a run.
KINDS: dict[str, tuple[str, dict[str, str], Callable[[], None], str]] = {
    "anthropic_native": ("anthropic", NATIVE, _nothing, "genai"),
    "anthropic_native_no_content": ("anthropic", {"ANTHROPIC_OPEN_TELEMETRY": "true"}, _nothing, "none"),
    "anthropic_openinference": (
        "anthropic",
        {},
        _on("openinference.instrumentation.anthropic:AnthropicInstrumentor"),
        "openinference",
    ),
    "anthropic_twice": (
        "anthropic",
        NATIVE,
        _on("openinference.instrumentation.anthropic:AnthropicInstrumentor"),
        "openinference",
    ),
    "anthropic_openllmetry": (
        "anthropic",
        {},
        _on("opentelemetry.instrumentation.anthropic:AnthropicInstrumentor"),
        "genai",
    ),
    "anthropic_openllmetry_events": (
        "anthropic",
        {},
        _on("opentelemetry.instrumentation.anthropic:AnthropicInstrumentor", use_attributes=False),
        "none",
    ),
    "anthropic_genai": (
        "anthropic",
        LATEST,
        _on("opentelemetry.instrumentation.genai.anthropic:AnthropicInstrumentor"),
        "genai",
    ),
    "anthropic_genai_details_event": (
        "anthropic",
        EVENT,
        _on("opentelemetry.instrumentation.genai.anthropic:AnthropicInstrumentor"),
        "genai",
    ),
    "openai_openinference": (
        "openai",
        {},
        _on("openinference.instrumentation.openai:OpenAIInstrumentor"),
        "openinference",
    ),
    "openai_openllmetry": ("openai", {}, _on("opentelemetry.instrumentation.openai:OpenAIInstrumentor"), "genai"),
    "openai_genai": ("openai", LATEST, _on("opentelemetry.instrumentation.genai.openai:OpenAIInstrumentor"), "genai"),
    "openai_v2_latest": ("openai", LATEST, _on("opentelemetry.instrumentation.openai_v2:OpenAIInstrumentor"), "genai"),
    "openai_v2_events": ("openai", OLDER, _on("opentelemetry.instrumentation.openai_v2:OpenAIInstrumentor"), "genai"),
    "openai_v2_no_content": ("openai", {}, _on("opentelemetry.instrumentation.openai_v2:OpenAIInstrumentor"), "genai"),
    "anthropic_openllmetry_indexed": (
        "anthropic",
        {},
        _on("opentelemetry.instrumentation.anthropic:AnthropicInstrumentor"),
        "genai",
    ),
    "openai_openllmetry_indexed": (
        "openai",
        {},
        _on("opentelemetry.instrumentation.openai:OpenAIInstrumentor"),
        "genai",
    ),
}


def record(name: str, folder: Path) -> None:
    """Record one file, in a process of its own: instrumentation cannot be taken back."""
    provider, _, switch_on, around = KINDS[name]
    path = folder / f"{name}.jsonl"
    path.unlink(missing_ok=True)
    shut = _providers(path)
    switch_on()
    script = Script(provider)
    server = serve(script)
    agent = (AnthropicAgent if provider == "anthropic" else OpenaiAgent)(f"http://127.0.0.1:{server.server_port}")
    for number, (questions, steps) in enumerate(zip(QUESTIONS, (ONE, TWO), strict=True), start=1):
        with _around(around, number):
            run(agent, questions, steps)
    shut()
    server.shutdown()
    path.write_text("".join(_scrubbed(line) + "\n" for line in path.read_text().splitlines()))
    packages = sorted(
        f"{d.name}=={d.version}"
        for d in distributions()
        if d.name.startswith(("anthropic", "openai", "openinference", "opentelemetry"))
    )
    expected = {"packages": packages, "requests": script.log}
    (folder / f"{name}.expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def _providers(path: Path) -> Callable[[], None]:
    """Write spans and log records to one file, as a collector does; give what ends both."""
    from opentelemetry import _logs, trace
    from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    resource = Resource({"service.name": "order-agent"})
    spans, logs = TracerProvider(resource=resource), LoggerProvider(resource=resource)
    spans.add_span_processor(SimpleSpanProcessor(FileSpanExporter(path)))
    logs.add_log_record_processor(SimpleLogRecordProcessor(FileLogExporter(path)))
    trace.set_tracer_provider(spans)
    _logs.set_logger_provider(logs)
    return lambda: (spans.shutdown(), logs.shutdown(), None)[-1]


@contextlib.contextmanager
def _around(kind: str, number: int) -> Iterator[None]:
    """The agent's own span around a run, as a framework writes it, or none."""
    from opentelemetry import trace

    known = {
        "genai": {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.id": "order-agent",
            "gen_ai.conversation.id": f"conversation-{number}",
        },
        "openinference": {"openinference.span.kind": "AGENT", "session.id": f"conversation-{number}"},
        "none": None,
    }[kind]
    if known is None:
        yield
        return
    with trace.get_tracer("order-agent").start_as_current_span("invoke_agent order-agent", attributes=known):
        yield


def _scrubbed(line: str) -> str:
    """Take out what tells of the machine: stack traces with their paths, and the port."""
    line = re.sub(r"(127\.0\.0\.1):\d+", r"\1:8080", line)
    return json.dumps(_walk(json.loads(line)), separators=(",", ":"))


def _walk(value: Any) -> Any:
    if isinstance(value, list):
        return [_walk(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("key") == "server.port":
        return {"key": "server.port", "value": {"intValue": "8080"}}
    if value.get("key") == "exception.stacktrace":
        return {"key": "exception.stacktrace", "value": {"stringValue": "(removed)"}}
    return {key: _walk(item) for key, item in value.items()}


def main() -> None:
    """Record the files named, or all of the first venv, each in a process of its own."""
    folder, *names = sys.argv[1:]
    if len(names) == 1 and os.environ.get("RECORDING") == names[0]:
        return record(names[0], Path(folder))
    first = [name for name in KINDS if not name.endswith("_indexed") and not name.startswith("openai_v2")]
    for name in names or first:
        quiet = {"ANTHROPIC_OPEN_TELEMETRY": "false", "RECORDING": name, "TRACELOOP_TELEMETRY": "false"}
        command = [sys.executable, "-W", "ignore", __file__, folder, name]
        subprocess.run(command, env=os.environ | quiet | KINDS[name][1], check=True)
        print(name)


if __name__ == "__main__":
    main()
