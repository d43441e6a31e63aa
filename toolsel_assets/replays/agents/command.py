"""The agent `command`: any program, so that a team plugs in its real agent loop. JSON on stdin, JSON on stdout.

The form stands in plain_answers.py. The program is started once per question, in the study's directory. What it writes
to stderr is shown when it fails. Files of the study that the command names belong to what can change an answer: after
an edit they are asked again.
"""

import asyncio
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field

from toolsel_assets.replays.agents import AgentSetup, Answer, Choice, MustStop, NoAnswer, Question
from toolsel_assets.replays.plain_answers import Settings, Told, asked, choice, usage

ASKED = True


class Params(Told):
    """What can change an answer."""

    command: tuple[str, ...] = Field(min_length=1, description="a program and its arguments, as a list")


class Command:
    """Starts a program for each question."""

    caches = False

    def __init__(self, params: Params, settings: Settings, folder: Path) -> None:
        """Keep the command; what it names in the study is read now, once."""
        self.params, self.folder = params, folder
        self.in_flight, self.timeout_s, self.deadline_s = settings.in_flight, settings.timeout_s, settings.deadline_s
        self.requests_per_minute, self.max_output_tokens = settings.requests_per_minute, params.max_output_tokens
        named = [folder / part for part in params.command]
        self._identity = {
            "command": list(params.command),
            "version": params.version,
            "files": {p.name: sha256(p.read_bytes()).hexdigest() for p in named if p.is_file()},
        }

    def body(self, question: Question) -> dict[str, Any]:
        """Give what the program reads, and what it is."""
        return {"agent": self._identity, "question": asked(question, self.params.tell)}

    async def ask(self, body: Mapping[str, Any], key: str) -> Answer:
        """Run the program once."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.params.command,
                cwd=self.folder,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise MustStop(f"{self.params.command[0]} cannot be started: {error}") from error
        try:
            told = json.dumps(body["question"], ensure_ascii=False).encode()
            out, err = await process.communicate(told)
        finally:
            if process.returncode is None:  # cancelled, by the time-out or from outside
                process.kill()
                await process.wait()
        if process.returncode:
            last = err.decode(errors="replace").strip().rpartition("\n")[2]
            raise NoAnswer(f"the program left with {process.returncode}: {last[:200]}", again=True)
        text = out.decode(errors="replace").strip()
        tokens, model = usage(text)
        return Answer(text, tokens, model)

    def read(self, answer: str, question: Question) -> Choice:
        """Conclude what an answer chose."""
        return choice(answer)

    async def close(self) -> None:
        """Nothing is kept open."""


def make(setup: AgentSetup) -> Command:
    """Make the agent of a rung."""
    return Command(setup.params, setup.settings, setup.folder)
