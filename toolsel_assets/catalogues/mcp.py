"""Asking MCP servers for their tools. The only module that imports `mcp`, an optional extra, and only when it is used.

What belongs here: starting or reaching a server, all pages of tools/list, the deadline, and what may be said of a
failure. What does not: judging and keeping what came (snapshots.py). The list is asked for anew each time
(`cache_mode="bypass"`), since the SDK keeps one for as long as a server likes; and nothing rests on list_changed
notifications, which not every server sends. A tool whose `x-mcp-header` is invalid is dropped by the SDK, with a
warning, as the protocol demands of every client: an agent does not see it either.

Secrets come from the environment, go to the server alone, and are masked in whatever is said of a failure.
"""

import asyncio
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from toolsel_assets.vocabulary.live_source import ENDING, LiveSource
from toolsel_assets.vocabulary.problem import BadInput

if TYPE_CHECKING:
    from mcp import Client

LOG = logging.getLogger("toolsel.catalogues")

#: Of what a program wrote to stderr, the end that is shown when it fails.
TAIL = 500

#: Shorter words of a secret are not masked. The word Bearer, say, is longer, and no harm is done by masking it.
SHORTEST_SECRET = 4

#: Under these names the SDK logs; the second is what its session module calls itself.
SDK_LOGGERS = ("mcp", "client")


def fetch_all(
    sources: Mapping[str, LiveSource], study: Path, most_s: float | None = None
) -> dict[str, dict[str, Any] | BadInput]:
    """Ask all sources at once; give each one's whole list as an MCP tools/list result, or why there is none."""
    if find_spec("mcp") is None:
        raise BadInput(
            f"catalogues/{next(iter(sources))}{ENDING}",
            "the package mcp is not installed",
            "pip install 'toolsel[mcp]'",
        )

    async def ask_all() -> list[dict[str, Any] | BadInput]:
        return await asyncio.gather(*(_ask(name, source, study, most_s) for name, source in sources.items()))

    secrets = [value for source in sources.values() for value in _secrets(source).values()]
    with _sdk_logs_masked(secrets):
        return dict(zip(sources, asyncio.run(ask_all()), strict=True))


async def _ask(name: str, source: LiveSource, study: Path, most_s: float | None) -> dict[str, Any] | BadInput:
    import anyio  # the SDK's own, whose deadline ends a server's process as well

    where = f"{study / 'catalogues' / name}{ENDING}"
    secrets = _secrets(source)
    if unset := [variable for variable in _variables(source) if variable not in os.environ]:
        return BadInput(where, f"{', '.join(unset)} not set in the environment", "the variables that it names")
    seconds = min(source.timeout_s, most_s or source.timeout_s)
    said: list[str] = []
    try:
        with anyio.fail_after(seconds):
            async with _client(source, study, said) as client:
                return {"tools": await _pages(client)}
    except TimeoutError:
        found = f"{source.shown} did not give its whole list within {seconds:g} s"
    # The SDK, its transports and the server raise whatever they like, also in groups; none of it is a defect of ours.
    except Exception as error:
        found = f"{source.shown} gave no list: {_reason(error)}"
    found = _masked(found, secrets.values())
    # Masked before it is cut: a secret of which the cut leaves a part would not be found.
    if tail := _masked(" ".join("".join(said).split()), secrets.values())[-TAIL:]:
        found += f"; it said: {tail}"
    return BadInput(where, found, "a running MCP server, or a file in its place")


async def _pages(client: "Client") -> list[dict[str, Any]]:
    """Ask for all pages."""
    tools: list[dict[str, Any]] = []
    cursor, seen = None, set()
    while True:
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        tools += [tool.model_dump(by_alias=True, exclude_unset=True, mode="json") for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            return tools
        if cursor in seen:
            raise ValueError("its pages go round in a circle")
        seen.add(cursor)


@asynccontextmanager
async def _client(source: LiveSource, study: Path, said: list[str]) -> AsyncIterator["Client"]:
    """Start or reach a server. What a program writes to stderr, or the status of a refusal, is kept in `said`."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if source.command:
        program, *arguments = source.command
        environment = {variable: os.environ[variable] for variable in source.env}
        folder = study / (source.cwd or "")
        parameters = StdioServerParameters(command=program, args=arguments, env=environment, cwd=folder)
        with _kept(said) as stderr:
            async with Client(stdio_client(parameters, errlog=stderr)) as client:
                yield client
        return
    import httpx2

    headers = {header: os.environ[variable] for header, variable in source.headers_from_env.items()}

    async def note(response: httpx2.Response) -> None:
        if response.is_error:
            said[:] = [f"HTTP {response.status_code}"]  # which the SDK does not say

    # Without a time-out of its own: the deadline is over the whole list.
    async with (
        httpx2.AsyncClient(headers=headers, timeout=None, event_hooks={"response": [note]}) as http,
        Client(streamable_http_client(str(source.url), http_client=http)) as client,
    ):
        yield client


@contextmanager
def _kept(said: list[str]) -> Iterator[TextIO]:
    """Give a file that a program can write to; the last of what it writes is kept in memory, never on disk."""
    reading, writing = os.pipe()

    def read() -> None:
        with os.fdopen(reading, encoding="utf-8", errors="replace") as file:
            for line in file:
                said.append(line[-100 * TAIL :])
                del said[:-50]

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        with os.fdopen(writing, "w") as file:
            yield file
    finally:
        # A grandchild may hold the pipe open for ever.
        thread.join(timeout=0.5)


def _reason(error: BaseException) -> str:
    """Say what went wrong, from within the groups that concurrent code raises."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(f"{error}".split()) or type(error).__name__


# --- secrets ------------------------------------------------------------------------------------------------------


def _variables(source: LiveSource) -> list[str]:
    return [*source.env, *source.headers_from_env.values()]


def _secrets(source: LiveSource) -> dict[str, str]:
    """Give the values of the variables that a source names, those that are set."""
    return {variable: os.environ[variable] for variable in _variables(source) if variable in os.environ}


def _masked(text: str, secrets: Iterable[str]) -> str:
    """Replace every secret and every word of one."""
    parts = {part for secret in secrets for part in (secret, *re.split(r"[\s:;,=]+", secret))}
    for part in sorted(parts, key=len, reverse=True):
        if len(part) >= SHORTEST_SECRET:
            text = text.replace(part, "***")
    return text


@contextmanager
def _sdk_logs_masked(secrets: list[str]) -> Iterator[None]:
    """Pass on what the SDK logs, masked and without tracebacks, which may hold what a server sent."""

    class Masking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            LOG.warning("mcp: %s", _masked(record.getMessage(), secrets))

    handler = Masking(logging.WARNING)
    loggers = {name: logging.getLogger(name) for name in SDK_LOGGERS}
    before = {name: logger.propagate for name, logger in loggers.items()}
    for logger in loggers.values():
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield
    finally:
        for name, logger in loggers.items():
            logger.removeHandler(handler)
            logger.propagate = before[name]
