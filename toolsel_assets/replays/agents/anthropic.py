"""The agent `anthropic`: a model behind Anthropic's Messages API, or behind any server that speaks it (`base_url`).

What belongs here: the SDK, its errors, what can be told to the model. What does not: how chats and answers are written
(messages_api.py), retries and pace (asking.py; the SDK's own are off, since they obey a retry-after of any length).

The key comes from the environment alone (ANTHROPIC_API_KEY) and is cut out of everything that is kept: a server may
repeat it in an error.
"""

import json
import os
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolsel_assets.replays.agents import AgentSetup, Answer, Choice, MustStop, NoAnswer, Question
from toolsel_assets.replays.messages_api import choice, conversation, system_text, tool_definitions, usage
from toolsel_assets.replays.wire_names import wire_name
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Tool

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic

ASKED = True

KEY_VARIABLE = "ANTHROPIC_API_KEY"
TOKEN_VARIABLE = "ANTHROPIC_AUTH_TOKEN"
URL_VARIABLE = "ANTHROPIC_BASE_URL"

#: Causes of a refusal for which asking again is in vain until a person does something (the SDK's error_code and type).
_SPEND = re.compile(r"spend_limit|billing|billable|on_hold")
_STOP_STATUS = frozenset({401, 402, 403, 404})
_AGAIN_STATUS = frozenset({408, 409, 429})
_SLOWER_STATUS = frozenset({429, 529})

_CACHE = {"type": "ephemeral"}


class Params(BaseModel):
    """What can change an answer. Newest models take no temperature; what is not given is not sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_tokens: int = Field(4096, ge=1, description="a number of tokens: an answer that reaches it is `truncated`")
    base_url: str | None = Field(None, description="the url of a server that speaks the Messages API")
    tool_choice: Literal["auto", "any", "none"] = Field("auto", description="auto: no tool must be possible")
    disable_parallel_tool_use: bool = False
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = Field(None, description="low ... max")
    thinking: dict[str, Any] | None = Field(None, description="as the API takes it, such as {type: disabled}")
    temperature: float | None = Field(None, description="a number, for models that still take one")
    top_p: float | None = None
    strict: bool = Field(False, description="true: names and arguments are forced into the schemas, which hides errors")
    extra_body: dict[str, Any] = Field(default_factory=dict, description="whatever else a compatible server takes")


class Settings(BaseModel):
    """How it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    in_flight: int = Field(16, ge=1, le=256, description="questions under way at once; 16 to 32 is the SDK's best")
    timeout_s: float = Field(120, gt=0, description="seconds for one attempt")
    deadline_s: float = Field(300, gt=0, description="seconds for a question with all its attempts")
    requests_per_minute: float | None = Field(None, gt=0, description="the rate limit, where it is known")
    cache: bool = Field(True, description="whether tools and prompt are marked for the prompt cache")
    mode: Literal["live", "batch"] = Field("live", description="batch: Message Batches, half the price, up to a day")
    poll_s: float = Field(60, gt=0, description="seconds between looks at a batch")


class Anthropic:
    """Asks the Messages API."""

    def __init__(self, params: Params, settings: Settings, model: str) -> None:
        """Keep what to say; the client is made with the first question, in the loop that uses it."""
        self.params, self.settings, self.model = params, settings, model
        self.base_url = params.base_url or os.environ.get(URL_VARIABLE) or None
        self.caches = settings.cache
        self.in_flight, self.timeout_s, self.deadline_s = settings.in_flight, settings.timeout_s, settings.deadline_s
        self.requests_per_minute, self.max_output_tokens = settings.requests_per_minute, params.max_tokens
        self.batches = settings.mode == "batch"
        self._tools: dict[int, tuple[tuple[Tool, ...], list[dict[str, Any]]]] = {}
        self._marked: dict[str, tuple[object, Any]] = {}
        self._client: AsyncAnthropic | None = None

    # --- what is asked --------------------------------------------------------------------------------------------

    def body(self, question: Question) -> dict[str, Any]:
        """Give the body of the request as it is sent, without the marks for the cache, and where it is sent."""
        params = self.params
        found: dict[str, Any] = {"model": self.model, "max_tokens": params.max_tokens}
        if system := system_text(question.request.messages, question.prompt):
            found["system"] = [{"type": "text", "text": system}]
        if tools := self._definitions(question):
            found["tools"] = tools
            found["tool_choice"] = {"type": params.tool_choice}
            if params.disable_parallel_tool_use and params.tool_choice != "none":
                found["tool_choice"]["disable_parallel_tool_use"] = True
        if params.effort:
            found["output_config"] = {"effort": params.effort}
        for name in ("thinking", "temperature", "top_p"):
            if getattr(params, name) is not None:
                found[name] = getattr(params, name)
        found.update(params.extra_body)
        found["messages"] = conversation(question.request.messages)
        # Another server may give another answer; where it is is no part of the body on the wire.
        return {**found, "base_url": self.base_url or ""}

    def _definitions(self, question: Question) -> list[dict[str, Any]]:
        # By the list itself and not by its names: requests that bring their own tools may share names.
        known = self._tools.get(id(question.tools))
        if known is None or known[0] is not question.tools:
            found = tool_definitions(question.tools)
            found = [{**tool, "strict": True} for tool in found] if self.params.strict else found
            known = self._tools[id(question.tools)] = question.tools, found
        return known[1]

    def _sent(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give what goes over the wire: without the server's place, with marks for the cache.

        One mark after the tools and one after the system prompt: the two parts that requests of one order share.
        """
        sent = {name: value for name, value in body.items() if name != "base_url"}
        if self.caches:
            for name in ("tools", "system"):
                if isinstance(sent.get(name), list) and sent[name]:
                    sent[name] = self._mark(name, sent[name])
        return sent

    def _mark(self, name: str, blocks: list[dict[str, Any]]) -> Any:
        known = self._marked.get(name)
        if known is None or known[0] is not blocks:
            known = self._marked[name] = blocks, [*blocks[:-1], {**blocks[-1], "cache_control": _CACHE}]
        return known[1]

    async def ask(self, body: Mapping[str, Any], key: str) -> Answer:
        """Ask once."""
        import anthropic

        sent = self._sent(body)
        fixed = {name: sent.pop(name) for name in ("model", "max_tokens")}
        try:
            # Passed as extra_body, which takes precedence, the rest is not walked through field by field: it is JSON.
            response = await self.client().messages.with_raw_response.create(
                **fixed, messages=[], extra_body=sent, extra_headers={"Idempotency-Key": key}, timeout=self.timeout_s
            )
            text = await response.text()
        except anthropic.APIStatusError as error:
            raise self._refusal(error) from None
        except anthropic.APIConnectionError as error:
            cause = error.__cause__ or error
            raise NoAnswer(self._safe(f"no connection: {type(cause).__name__} {cause}"), again=True) from None
        except Exception as error:
            # The transport's own errors while a body is read (a connection that is dropped in the middle).
            if type(error).__module__.split(".")[0] not in ("httpx2", "httpcore2", "anyio", "h11"):
                raise
            raise NoAnswer(self._safe(f"the answer broke off: {type(error).__name__} {error}"), again=True) from None
        return self._answer(text, response.headers.get("request-id"))

    def _answer(self, text: str, provider_id: str | None) -> Answer:
        tokens, served = usage(text)
        return Answer(self._safe(text), tokens, served, provider_id)

    def _refusal(self, error: "APIStatusError") -> Exception:
        status, kind = error.status_code, error.error_code or error.type or ""
        told = error.body.get("error") if isinstance(error.body, dict) else None
        message = told.get("message") if isinstance(told, dict) else error.message
        said = f"{status} {kind}: {message}"
        detail = self._safe(" ".join(said.split())[:300])
        if status in _STOP_STATUS or _SPEND.search(f"{error.error_code} {error.type}"):
            return MustStop(detail)
        headers = error.response.headers
        again = status in _AGAIN_STATUS or status >= 500
        if (wish := headers.get("x-should-retry")) in ("true", "false"):
            again = wish == "true"
        return NoAnswer(detail, again=again, after=retry_after(headers), slower=status in _SLOWER_STATUS)

    def client(self) -> "AsyncAnthropic":
        """Give the SDK's client."""
        if self._client is None:
            import anthropic

            check_access(self.params)
            # A server of one's own may want no key; the SDK insists on one.
            has_token = os.environ.get(TOKEN_VARIABLE)
            key = os.environ.get(KEY_VARIABLE) or (None if has_token or not self.base_url else "none")
            self._client = anthropic.AsyncAnthropic(
                api_key=key, base_url=self.base_url, max_retries=0, timeout=self.timeout_s
            )
        return self._client

    def _safe(self, text: str) -> str:
        for name in (KEY_VARIABLE, TOKEN_VARIABLE):
            if secret := os.environ.get(name):
                text = text.replace(secret, "[key]")
        return text

    async def close(self) -> None:
        """Let go of connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    # --- what came back -------------------------------------------------------------------------------------------

    def read(self, answer: str, question: Question) -> Choice:
        """Conclude what an answer chose."""
        return choice(answer, question, {wire_name(tool.name): tool.name for tool in question.tools})

    async def count_tokens(self, body: Mapping[str, Any]) -> int:
        """Count the tokens that a question reads, by the provider's own count, which is free."""
        keep = ("model", "messages", "system", "tools", "tool_choice", "thinking")
        sent = {name: body[name] for name in keep if name in body}
        found = await self.client().messages.count_tokens(model=sent.pop("model"), messages=[], extra_body=sent)
        return found.input_tokens

    # --- batches --------------------------------------------------------------------------------------------------

    async def submit(self, bodies: Mapping[str, Mapping[str, Any]]) -> str:
        """Submit a batch; its keys are the results' custom_ids. Gives the batch's identifier."""
        requests = [{"custom_id": key, "params": self._sent(body)} for key, body in bodies.items()]
        batches = self.client().messages.batches
        found = await self._managed(batches.create(requests=[], extra_body={"requests": requests}))
        return str(found.id)

    async def batch_has_ended(self, batch_id: str) -> tuple[bool, str]:
        """Say whether a batch has ended, and how far it is."""
        found = await self._managed(self.client().messages.batches.retrieve(batch_id))
        counts = found.request_counts
        done = counts.succeeded + counts.errored + counts.canceled + counts.expired
        return found.processing_status == "ended", f"{done} of {done + counts.processing}"

    async def batches_since(self, moment: datetime, n: int) -> list[str]:
        """Name the batches of so many questions that were made since a moment (UTC): one may be ours."""
        found = []
        async for batch in self.client().messages.batches.list(limit=100):
            if batch.created_at.astimezone(UTC).replace(tzinfo=None) < moment:
                break
            counts = batch.request_counts
            if sum((counts.processing, counts.succeeded, counts.errored, counts.canceled, counts.expired)) == n:
                found.append(batch.id)
        return found

    async def batch_results(self, batch_id: str) -> AsyncIterator[tuple[str, Answer | NoAnswer]]:
        """Give a batch's results in whatever order they come, by custom_id."""
        stream = await self._managed(self.client().messages.batches.results(batch_id))
        async for line in stream:
            result = line.result.model_dump(mode="json", exclude_unset=True)
            if result.get("type") == "succeeded":
                yield line.custom_id, self._answer(json.dumps(result.get("message"), ensure_ascii=False), batch_id)
            else:
                said = json.dumps(result.get("error") or "", ensure_ascii=False)[:200]
                yield line.custom_id, NoAnswer(self._safe(f"batch: {result.get('type')} {said}"), again=False)

    async def _managed(self, call: Any) -> Any:
        import anthropic

        try:
            return await call
        except anthropic.APIStatusError as error:
            raise self._refusal(error) from None
        except anthropic.APIConnectionError as error:
            raise NoAnswer(self._safe(f"no connection: {error.__cause__ or error}"), again=True) from None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds the provider asks us to wait; None where it does not say."""
    try:
        if (ms := headers.get("retry-after-ms")) is not None:
            return max(float(ms) / 1000, 0.0)
        if (value := headers.get("retry-after")) is None:
            return None
        try:
            return max(float(value), 0.0)
        except ValueError:
            return max((parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None


def make(setup: AgentSetup) -> Anthropic:
    """Make the agent of a rung."""
    return Anthropic(setup.params, setup.settings, setup.model or "")


def check_access(params: Params) -> None:
    """Refuse to begin without what it takes to ask: the SDK, and a key or a server of one's own."""
    if find_spec("anthropic") is None:
        raise BadInput("agent anthropic", "the package anthropic is not installed", "pip install 'toolsel[anthropic]'")
    known = (KEY_VARIABLE, TOKEN_VARIABLE, URL_VARIABLE)
    if not params.base_url and not any(os.environ.get(name) for name in known):
        raise BadInput("agent anthropic", f"{KEY_VARIABLE} is not set", "a key in the environment, or params.base_url")
