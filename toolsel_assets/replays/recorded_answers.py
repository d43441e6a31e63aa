r"""Answers of models as benchmarks record them: Python calls as text, a list of {name: arguments}, or a plain text.

What belongs here: what one recorded answer chose. What does not: where answers lie (agents/recorded.py), whether the
choice was right (scores/). Pure, and nothing is evaluated.

Such records hold no stop reason. *No tool* is concluded from an explicit empty list, or from a text that runs to its
end and holds nothing that looks like a call. What looks like a call and cannot be read is `malformed`: two published
benchmarks credit it as a correct abstention.

    [weather.get(city="Riga", days=2)]     one list, or a list a line; true, false and null are read as JSON's
    Nothing fits.\n[weather.get(...)]        a text, then such lists: the calls count, whatever the text says
    [{"weather.get": "{\"city\": ...}"}]      arguments as JSON text or as an object; [] is no tool

A call outside a list is `malformed`: the models were told to put calls into one, and a loop that reads lists makes none
of it.
"""

import ast
import json
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

from toolsel_assets.replays.agents import Choice
from toolsel_assets.vocabulary.action import Call
from toolsel_assets.vocabulary.decision import Status

#: Characters of an answer, levels of nesting in its arguments, calls: above these nobody has meant it.
LONGEST, DEEPEST, MOST_CALLS = 100_000, 50, 200

#: What chat templates write at the end of a turn, and some servers leave there.
_END_OF_TURN = re.compile(r"\s*(?:<end_of_turn>|<\|im_end\|>|<\|eot_id\|>|<\|endoftext\|>|<eos>|</s>)\s*$")

#: What a harness wrote in the place of an answer.
_ERROR = re.compile(r"Error during inference:|Error code: [45]\d\d\b")

#: What a call looks like, well-formed or not: name(key=, name("..., name(), a link to a name, a JSON object with a
#: name, a tag. "the name(s)" and "f(x)" are prose.
_LIKE_A_CALL = re.compile(
    r"""\w\w[\w.]*\((?:\s*\w+\s*=|\s*["'\[{)])"""
    r"""|\[[\w.]+\]\("""
    r"""|\{\s*["']?(?:name|function|tool|tool_name)["']?\s*:"""
    r"""|<\|?/?(?:tool|function)|```"""
)

#: A text that ends in the same few characters over and over was cut, or would have gone on for ever.
_RUNS_ON = re.compile(r"(.{1,24}?)\1{19,}$", re.DOTALL)
_LOOKED_AT = 1000  # characters at the end

_JSON_NAMES = {"true": True, "false": False, "null": None}


class _Unreadable(Exception):
    """Why an answer is no action."""


def parse_answer(answer: object) -> Choice:
    """Conclude what a recorded answer chose. Nothing is raised: what cannot be read is `malformed`."""
    try:
        if isinstance(answer, str):
            return _of_text(answer)
        if isinstance(answer, list):
            return _chose(_calls_of_objects(answer))
        raise _Unreadable(f"neither a text nor a list: {type(answer).__name__}")
    except _Unreadable as reason:
        return Choice((), Status.MALFORMED, detail=str(reason))


def _chose(calls: list[Call]) -> Choice:
    return Choice(tuple(calls), Status.CALLED if calls else Status.STOPPED)


# --- text ---------------------------------------------------------------------------------------------------------


def _of_text(answer: str) -> Choice:
    if len(answer) > LONGEST:
        raise _Unreadable(f"{len(answer)} characters; read are at most {LONGEST}")
    text = _END_OF_TURN.sub("", answer).strip()
    if not text:
        return Choice((), Status.UNKNOWN, detail="an empty text: nothing says that the model finished")
    if _ERROR.match(text):
        return Choice((), Status.API_ERROR, detail=_shown(text))
    prose, lists = _divided(text)
    if _LIKE_A_CALL.search(prose):
        raise _Unreadable(f"what looks like a call is in no list: {_shown(prose)}")
    if lists:
        return _chose(_calls_of_text(lists))
    if _RUNS_ON.search(prose[-_LOOKED_AT:]):
        return Choice((), Status.TRUNCATED, detail=f"runs on without an end: {_shown(prose)}")
    return Choice((), Status.STOPPED)


def _divided(text: str) -> tuple[str, str]:
    """Divide a text before its first line that begins a list."""
    found = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    return (text, "") if found is None else (text[: found.start()], text[found.start() :].strip())


def _calls_of_text(text: str) -> list[Call]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the model's text, such as an escape that Python does not know
            lines = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise _Unreadable(f"no list of calls: {_shown(text)} ({_first_line(error)})") from error
    calls = []
    for line in lines:
        if not isinstance(line, ast.Expr) or not isinstance(line.value, ast.List):
            raise _Unreadable(f"beside a list of calls there is more: {_shown(text)}")
        calls += [_call_of_node(node) for node in line.value.elts]
    if len(calls) > MOST_CALLS:
        raise _Unreadable(f"{len(calls)} calls; read are at most {MOST_CALLS}")
    return calls


def _call_of_node(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise _Unreadable(f"a list that holds no call: {type(node).__name__}")
    tool = _name(node.func)
    if node.args:
        raise _Unreadable(f"{tool}: an argument without a name")
    args: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise _Unreadable(f"{tool}: an argument without a name")
        if keyword.arg in args:  # Python refuses it as well, but only when it compiles the call
            raise _Unreadable(f"{tool}: the argument {keyword.arg} is repeated")
        args[keyword.arg] = _value(keyword.value, f"{tool}, {keyword.arg}", DEEPEST)
    return Call(tool, args)


def _name(node: ast.expr) -> str:
    """Give a name with its dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < DEEPEST:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise _Unreadable(f"what is called has no name: {type(node).__name__}")
    return ".".join([node.id, *reversed(parts)])


def _value(node: ast.expr, where: str, depth: int) -> Any:
    """Give a literal as JSON has it."""
    if not depth:
        raise _Unreadable(f"{where}: nested more than {DEEPEST} deep")
    reader = _READERS.get(type(node))
    if reader is None:
        raise _Unreadable(f"{where}: {type(node).__name__} is no literal")
    return reader(node, where, depth)


def _constant(node: Any, where: str, _: int) -> Any:
    value = node.value
    if isinstance(value, float) and not math.isfinite(value):
        raise _Unreadable(f"{where}: {value} is no number of JSON")
    if value is not None and not isinstance(value, str | int | float):
        raise _Unreadable(f"{where}: {type(value).__name__} is no value of JSON")
    return value


def _json_name(node: Any, where: str, _: int) -> Any:
    if node.id not in _JSON_NAMES:
        raise _Unreadable(f"{where}: {node.id} is no literal")
    return _JSON_NAMES[node.id]


def _signed(node: Any, where: str, depth: int) -> Any:
    value = _value(node.operand, where, depth - 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isinstance(node.op, ast.USub | ast.UAdd):
        raise _Unreadable(f"{where}: {type(node.op).__name__} of no number")
    return -value if isinstance(node.op, ast.USub) else value


def _sequence(node: Any, where: str, depth: int) -> list[Any]:
    return [_value(one, where, depth - 1) for one in node.elts]


def _mapping(node: Any, where: str, depth: int) -> dict[str, Any]:
    found = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise _Unreadable(f"{where}: a key that is no text")
        found[key.value] = _value(value, where, depth - 1)
    return found


#: JSON has no tuple: it becomes a list.
_READERS: dict[type[ast.expr], Callable[[Any, str, int], Any]] = {
    ast.Constant: _constant,
    ast.Name: _json_name,
    ast.UnaryOp: _signed,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Dict: _mapping,
}


# --- objects ------------------------------------------------------------------------------------------------------


def _calls_of_objects(answer: list[Any]) -> list[Call]:
    if len(answer) > MOST_CALLS:
        raise _Unreadable(f"{len(answer)} calls; read are at most {MOST_CALLS}")
    return [_call_of_object(one) for one in answer]


def _call_of_object(one: object) -> Call:
    if not isinstance(one, dict) or len(one) != 1:
        raise _Unreadable(f"no {{name: arguments}}: {_shown(repr(one))}")
    tool, args = next(iter(one.items()))
    if not isinstance(tool, str) or not tool:
        raise _Unreadable(f"what is called has no name: {_shown(repr(tool))}")
    args = _json(args, tool) if isinstance(args, str) else args
    if not isinstance(args, dict):
        raise _Unreadable(f"{tool}: the arguments are {type(args).__name__} and no object")
    _check_depth(args, tool)
    return Call(tool, args)


def _json(text: str, tool: str) -> Any:
    if len(text) > LONGEST:
        raise _Unreadable(f"{tool}: {len(text)} characters; read are at most {LONGEST}")

    def no_number(name: str) -> None:
        raise _Unreadable(f"{tool}: {name} is no number of JSON")

    try:
        return json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise _Unreadable(f"{tool}: arguments that are not JSON: {_shown(text)} ({_first_line(error)})") from error


def _check_depth(value: Any, tool: str) -> None:
    """Look level by level, so that no depth is too deep to be refused."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise _Unreadable(f"{tool}: nested more than {DEEPEST} deep")
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [one for values in inner for one in values]


def _shown(text: str) -> str:
    one_line = " ".join(text.split())
    return repr(one_line if len(one_line) <= 120 else one_line[:117] + "...")


def _first_line(error: BaseException) -> str:
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return (said.splitlines() or [type(error).__name__])[0][:120]
