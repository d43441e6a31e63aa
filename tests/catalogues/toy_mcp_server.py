"""An MCP server whose tools stand in a JSON file that a test may change, over stdio or streamable HTTP.

    python toy_mcp_server.py FILE            over stdio
    python toy_mcp_server.py FILE PORT       over HTTP, at http://127.0.0.1:PORT/mcp

The file: {"tools": [...], "page_size": 2, "behaviour": "hang" | "circle" | "fail", "token": "only with this header"}.
What it is told by its environment (TOY_SECRET) it writes to stderr when it fails, as careless servers do.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

FILE = Path(sys.argv[1])


def stated() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


async def list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    now, start = stated(), int((params and params.cursor) or 0)
    behaviour = now.get("behaviour")
    if behaviour == "hang":
        await anyio.sleep(600)
    if behaviour == "fail":
        print(f"no backend for {os.environ.get('TOY_SECRET')}", file=sys.stderr, flush=True)
        raise RuntimeError(f"cannot list with {os.environ.get('TOY_SECRET')}")
    end = start + now.get("page_size", 100)
    following = "0" if behaviour == "circle" else str(end) if end < len(now["tools"]) else None
    tools = [types.Tool.model_validate(tool) for tool in now["tools"][start:end]]
    return types.ListToolsResult(tools=tools, next_cursor=following)


SERVER = Server("toy", version="1", on_list_tools=list_tools)


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await SERVER.run(read, write, SERVER.create_initialization_options())


def over_http(port: int) -> None:
    import uvicorn

    app = SERVER.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        token = stated().get("token")
        if scope["type"] == "http" and token and (b"authorization", f"Bearer {token}".encode()) not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
            return
        await app(scope, receive, send)

    uvicorn.run(guarded, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        over_http(int(sys.argv[2]))
    else:
        anyio.run(over_stdio)
