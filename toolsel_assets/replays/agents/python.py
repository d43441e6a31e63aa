"""The agent `python:<module>:<function>`: a function of your own, plain or async, imported from the study's directory.

It is called with the object of plain_answers.py and gives one back. Plain functions run in threads. The module's file
belongs to what can change an answer: after an edit it is asked again.
"""

import asyncio
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from toolsel_assets.replays.agents import PYTHON, AgentSetup, Answer, Choice, NoAnswer, Question
from toolsel_assets.replays.plain_answers import Settings, Told, asked, choice, usage
from toolsel_assets.vocabulary.problem import BadInput

ASKED = True


Params = Told


class Python:
    """Calls a function for each question."""

    caches = False

    def __init__(self, name: str, function: Callable[[dict[str, Any]], Any], params: Told, settings: Settings) -> None:
        """Keep the function and the hash of its file."""
        self.params, self._function = params, function
        self.in_flight, self.timeout_s, self.deadline_s = settings.in_flight, settings.timeout_s, settings.deadline_s
        self.requests_per_minute, self.max_output_tokens = settings.requests_per_minute, params.max_output_tokens
        source = inspect.getsourcefile(inspect.unwrap(function))
        digest = sha256(Path(source).read_bytes()).hexdigest() if source else ""
        self._identity = {"function": name, "version": params.version, "file": digest}

    def body(self, question: Question) -> dict[str, Any]:
        """Give what the function is called with, and what it is."""
        return {"agent": self._identity, "question": asked(question, self.params.tell)}

    async def ask(self, body: Mapping[str, Any], key: str) -> Answer:
        """Call the function once."""
        told = json.loads(json.dumps(body["question"]))  # a copy: the function may write into it
        try:
            if inspect.iscoroutinefunction(self._function):
                found = await self._function(told)
            else:
                found = await asyncio.to_thread(self._function, told)
        except Exception as error:
            raise NoAnswer(f"{type(error).__name__}: {error}"[:300], again=True) from error
        text = json.dumps(found, ensure_ascii=False, default=repr)
        tokens, model = usage(text)
        return Answer(text, tokens, model)

    def read(self, answer: str, question: Question) -> Choice:
        """Conclude what an answer chose."""
        return choice(answer)

    async def close(self) -> None:
        """Nothing is kept open."""


def make(setup: AgentSetup) -> Python:
    """Make the agent of a rung: import its function."""
    module_name, _, function_name = setup.name.removeprefix(PYTHON).partition(":")
    where = f"agent {setup.name}"
    if not module_name or not function_name or not setup.name.startswith(PYTHON):
        raise BadInput(where, "no function is named", "python:<module>:<function>")
    function = getattr(_import(module_name, setup.folder, where), function_name, None)
    if not callable(function):
        raise BadInput(where, f"{module_name} has no function {function_name}", "a function of one argument")
    return Python(setup.name, function, setup.params, setup.settings)


def _import(name: str, folder: Path, where: str) -> ModuleType:
    """Import a module of the study anew, so that an edit counts in a process that lives on; else an installed one."""
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # for what the module itself imports
    try:
        spec = importlib.util.spec_from_file_location(name, path) if path.is_file() else None
        if spec is None or spec.loader is None:
            return importlib.import_module(name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except Exception as error:
        raise BadInput(where, f"{name} cannot be imported: {type(error).__name__} {error}") from error
