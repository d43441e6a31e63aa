"""What the tests of this stage share: a real MCP server whose tools a test may change, and a study that asks it."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

PROGRAM = Path(__file__).parent / "toy_mcp_server.py"


@dataclass(frozen=True)
class Toy:
    """The file that the server reads at every request, and the url at which it runs."""

    file: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(PROGRAM), str(self.file)]

    def lists(self, tools: list[dict[str, Any]], **more: Any) -> None:
        """Let it list these tools from now on; `more` as its docstring says."""
        temporary = self.file.with_suffix(".tmp")
        temporary.write_text(json.dumps({"tools": tools, **more}), encoding="utf-8")
        temporary.replace(self.file)


def tools_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["tools"]
    return found


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def source(study: Path, name: str, **spec: Any) -> Path:
    """Write a live source into a study."""
    path = study / "catalogues" / f"{name}.mcp.yaml"
    path.write_text(yaml.safe_dump(spec), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def running_toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    """The server over HTTP, once for all tests of a worker."""
    toy = Toy(tmp_path_factory.mktemp("toy") / "toy.json", free_port())
    toy.lists([])
    with subprocess.Popen([*toy.command, str(toy.port)], stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + 30
            while True:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", toy.port)) == 0:
                        break
                assert process.poll() is None and time.monotonic() < until, "the toy server does not start"
                time.sleep(0.05)
            yield toy
        finally:
            process.kill()


@pytest.fixture
def toy(running_toy: Toy, starter: Path) -> Toy:
    """The server, listing the tools of the starter's catalogue `rooms`."""
    running_toy.lists(tools_of(starter / "catalogues" / "rooms.json"))
    return running_toy


@pytest.fixture
def live(starter: Path, toy: Toy) -> Path:
    """The small study, whose catalogue `rooms` comes from the running server."""
    (starter / "catalogues" / "rooms.json").unlink()
    source(starter, "rooms", url=toy.url)
    return starter
