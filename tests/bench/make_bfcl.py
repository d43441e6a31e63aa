"""Build the example study `bfcl` from a folder of BFCL v4 data (questions, possible answers, models' results).

    python -m tests.bench.make_bfcl ../shared/data/bfcl_v4

What belongs here: which questions are taken, and how the benchmark's files become labels, lists of tools, answers and
traces. What does not: the texts of the study (study.yaml, ladders, criteria, README), which a person writes.
"""

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from hashlib import sha256
from itertools import islice, product
from pathlib import Path
from typing import Any

from toolsel_assets.labels.drafts import release_by_hand
from toolsel_assets.labels.versions import read_label_set
from toolsel_assets.replays.recorded_answers import parse_answer
from toolsel_assets.vocabulary.action import calls_to_json

Json = dict[str, Any]

STUDY = Path(__file__).parents[2] / "toolsel_assets" / "examples" / "bfcl"
SEED = 20261201

#: Category -> how many questions, drawn by sha256(seed, id); None for all.
CALLS = {"multiple": None, "live_multiple": 100}
NO_CALL = {"irrelevance": None, "live_irrelevance": 100}

#: The model's name in the study -> its folder of results.
MODELS = {
    "airev-agent-0.8b": "airev-agent-0.8b",
    "glyphh-ada-1.1": "glyphh-ada-1.1",
    "gemma4-e4b": "gemma4-e4b-toolcall-v02",
}

#: Whose answers are the study's traces: the first rung's.
TRACED = "airev-agent-0.8b"

#: Above so many combinations of acceptable values a label accepts the tool with any arguments, and says so.
MOST_SPECS = 16

#: The benchmark's names of types -> JSON Schema's; `any` has none.
TYPES = {"dict": "object", "float": "number", "tuple": "array"}

_OMITTED = object()


def lines(path: Path) -> Iterator[Json]:
    """Yield the objects of a file of JSON lines, none where there is no file."""
    if path.exists():
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line)


def write(path: Path, rows: Sequence[Json]) -> None:
    """Write JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def drawn(questions: Sequence[Json], n: int | None) -> list[Json]:
    """Draw n questions, in the order of the file."""
    keys = {question["id"]: sha256(f"{SEED}:{question['id']}".encode()).hexdigest() for question in questions}
    chosen = set(sorted(keys, key=lambda one: keys[one])[:n])
    return [question for question in questions if question["id"] in chosen]


# --- tools --------------------------------------------------------------------------------------------------------


def schema(found: Mapping[str, Any]) -> Json:
    """Give a schema as JSON Schema has it."""
    kept: Json = dict(found)
    if kept.get("type") == "any":
        del kept["type"]
    elif isinstance(kept.get("type"), str):
        kept["type"] = TYPES.get(kept["type"], kept["type"])
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: schema(value) for name, value in kept["properties"].items()}
    if isinstance(kept.get("items"), dict):
        kept["items"] = schema(kept["items"])
    return kept


def tool(function: Mapping[str, Any]) -> Json:
    """Give a function as MCP has it."""
    return {
        "name": function["name"],
        "description": function["description"],
        "inputSchema": schema(function["parameters"]),
    }


# --- labels -------------------------------------------------------------------------------------------------------


def alternatives(value: Any) -> Iterator[Any]:
    """Yield the values that one possible value stands for: the fields of an object are lists of possible values."""
    if isinstance(value, dict):
        fields = {name: found if isinstance(found, list) else [found] for name, found in value.items()}
        for values in product(*(list(_each(found)) for found in fields.values())):
            yield dict(zip(fields, values, strict=True))
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        yield from map(list, product(*(list(alternatives(one)) for one in value)))
    else:
        yield value


def _each(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        yield from alternatives(value)


def specs(args: Mapping[str, Sequence[Any]], required: Sequence[str]) -> list[Json] | None:
    """Give every acceptable set of arguments; None where they are too many. The text "" stands for leaving one out."""
    choices = [
        [_OMITTED if value == "" and name not in required else value for value in _each(values)]
        for name, values in args.items()
    ]
    found: list[Json] = []
    for values in islice(product(*choices), MOST_SPECS + 1):
        one = {name: value for name, value in zip(args, values, strict=True) if value is not _OMITTED}
        if one not in found:
            found.append(one)
    n_combinations = 1
    for values_of_one in choices:
        n_combinations *= len(values_of_one)
    return found if n_combinations <= MOST_SPECS else None


def valid_actions(question: Json, truth: Sequence[Json]) -> list[Json]:
    """Give the acceptable actions of a question: its possible answers, or no tool."""
    if not truth:
        return [{"tool": None, "reason": "the benchmark: none of the functions fits"}]
    found: list[Json] = []
    for possible in truth:
        ((name, args),) = possible.items()
        function = next(one for one in question["function"] if one["name"] == name)
        accepted = specs(args, function["parameters"].get("required") or [])
        if accepted is None:
            found.append({"tool": name, "reason": f"more than {MOST_SPECS} combinations of values: any are accepted"})
        else:
            found += [{"tool": name, "args": one} for one in accepted]
    return found


def label(question: Json, truth: Sequence[Json]) -> Json:
    """Give the label of a question, its messages and its tools with it."""
    (turn,) = question["question"]
    return {
        "id": question["id"],
        "messages": turn,
        "tools": [tool(function) for function in question["function"]],
        "valid_actions": valid_actions(question, truth),
        "labelled_by": ["bfcl-eval"],
    }


# --- answers and traces -------------------------------------------------------------------------------------------


def answer(result: Json) -> Json:
    """Give one recorded answer, with what was measured of it where anything was."""
    found: Json = {"id": result["id"], "answer": result["result"]}
    measured = {"input_tokens": "input_token_count", "output_tokens": "output_token_count"}
    for ours, theirs in measured.items():
        if result.get(theirs):  # a count of zero is a count that was not made
            found[ours] = result[theirs]
    if result.get("latency"):
        found["latency_ms"] = round(1000 * result["latency"], 1)
    return found


def decision(row: Json, recorded: Json) -> Json:
    """Give a model's answer to a labelled question as a line of the format `decisions`."""
    choice = parse_answer(recorded["answer"])
    return {
        "run_id": row["id"],
        "step_index": 0,
        "messages": row["messages"],
        "calls": json.loads(calls_to_json(choice.action)),
        "status": str(choice.status),
        "model": TRACED,
        "model_served": TRACED,
        "tools": [one["name"] for one in row["tools"]],
    }


def main() -> None:
    """Build the files that are not a person's."""
    parser = argparse.ArgumentParser(description="Build the example study bfcl.")
    parser.add_argument("data", type=Path, help="the folder with <category>.questions.jsonl and results/")
    data: Path = parser.parse_args().data
    for made in ("labels", "answers", "traces"):
        shutil.rmtree(STUDY / made, ignore_errors=True)
    rows: dict[str, Json] = {}
    for version, categories in (("calls", CALLS), ("no_call", NO_CALL)):
        labels = []
        for category, n in categories.items():
            truths = {one["id"]: one["ground_truth"] for one in lines(data / f"{category}.answers.jsonl")}
            questions = drawn(list(lines(data / f"{category}.questions.jsonl")), n)
            labels += [label(question, truths.get(question["id"], ())) for question in questions]
        folder = STUDY / "labels" / version
        write(folder / "labels.jsonl", labels)
        release_by_hand(read_label_set(folder, frozenset()), folder, date(2026, 12, 1))
        rows |= {row["id"]: row for row in labels}
    for model, results in MODELS.items():
        found = [
            one for category in (*CALLS, *NO_CALL) for one in lines(data / "results" / results / f"{category}.jsonl")
        ]
        answers = {one["id"]: answer(one) for one in found}
        write(STUDY / "answers" / f"{model}.jsonl", [answers[name] for name in rows if name in answers])
        if model == TRACED:
            write(STUDY / "traces" / f"{model}.jsonl", [decision(row, answers[name]) for name, row in rows.items()])


if __name__ == "__main__":
    main()
