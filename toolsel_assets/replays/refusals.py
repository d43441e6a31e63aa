"""What a ladder must be before its agent is asked: everything here is refused before the first question is paid for.

What belongs here: rules that need catalogues, prompts, labels or the agent beside the ladder's file. What does not: the
file's own shape (vocabulary/ladder.py). "The configuration has to change in exactly one respect between rungs"
(seeds/per_tool_and_pair) is held here by content: two catalogues with the same tools are no change.
"""

from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

from toolsel_assets.replays.agents import Request, anthropic
from toolsel_assets.replays.pins import check_pinned
from toolsel_assets.replays.run import agent_module, setup_of
from toolsel_assets.replays.wire_names import wire_names
from toolsel_assets.study import Study
from toolsel_assets.vocabulary.label import LabelRow
from toolsel_assets.vocabulary.ladder import Ladder, Rung
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Catalogue

#: Characters of a difference that tables and errors show.
_SHOWN = 2000


def check_ladder(study: Study, ladder: Ladder, requests: Sequence[tuple[Request, LabelRow]], *, released: bool) -> None:
    """Refuse a ladder that cannot be climbed, or not honestly."""
    file = str(study.folder / "ladders" / f"{ladder.name}.yaml")
    _lists_are_there(ladder, requests, file)
    for order, rung in enumerate(ladder.rungs):
        if order and not difference(study, ladder.rungs[order - 1], rung):
            before = ladder.rungs[order - 1].name
            raise BadInput(
                f"{file}, rungs.{order}",
                f"{rung.name} is the same as {before}: {'; '.join(ladder.rungs[order - 1].differences(rung))} "
                "names another file with the same content",
                "exactly one change from rung to rung",
            )
        setup = setup_of(ladder, rung, study.folder)
        if agent_module(ladder).ASKED and (rung.model or ladder.agent.name == "anthropic"):
            check_pinned(rung.model, said_so=ladder.agent.pinned, where=f"{file}, rungs.{order}.model")
        if ladder.agent.name == "anthropic":
            anthropic.check_access(setup.params)
            _no_tool_is_possible(setup.params, requests, f"{file}, agent.params.tool_choice")
    if ladder.agent.name == "bm25" or not agent_module(ladder).ASKED:
        return
    own = {tool.name for request, _ in requests for tool in request.tools or ()}
    shown = (name for rung in ladder.rungs for name in (own if rung.is_from_request else study.catalogue(rung).names))
    wire_names(shown, f"{file}, rungs")
    if not released:
        raise BadInput(
            f"{file}, label_set", f"{ladder.label_set} is not released", f"toolsel label release {ladder.label_set}"
        )
    if study.spec.budget.max_usd is not None:
        for model in sorted({rung.model for rung in ladder.rungs if rung.model} - study.spec.prices.keys()):
            raise BadInput(
                str(study.folder / "study.yaml"),
                f"budget.max_usd without a price for {model}",
                f"prices: {{{model}: {{input: ..., output: ...}}}}, in dollars per million tokens",
            )


def _lists_are_there(ladder: Ladder, requests: Sequence[tuple[Request, LabelRow]], file: str) -> None:
    """Refuse a rung that shows what requests bring where one brings no list; an empty list is one, of no tools."""
    for order, rung in enumerate(ladder.rungs):
        without = [request.request_id for request, _ in requests if request.tools is None]
        if rung.is_from_request and without:
            raise BadInput(
                f"{file}, rungs.{order}.catalogue",
                f"{len(without)} of {len(requests)} requests bring no tools, {without[0]} the first",
                "`tools` on every row of the label set, or a file of catalogues/",
            )


def _no_tool_is_possible(params: Any, requests: Sequence[tuple[Request, LabelRow]], where: str) -> None:
    """Refuse a choice that is forced: a model that has to call cannot choose no tool, and would be blamed for it."""
    forced = sum(row.allows_no_tool for _, row in requests)
    if params.tool_choice == "any" and forced:
        raise BadInput(where, f"any: no tool is acceptable on {forced} of {len(requests)} requests", "auto")
    if params.tool_choice == "none":
        raise BadInput(where, "none: the model could never call a tool", "auto")


def difference(study: Study, before: Rung, after: Rung) -> str:
    """Say in detail what differs between two rungs; empty when nothing does."""
    found = []
    if before.catalogue != after.catalogue:
        found += _tools(study.catalogue(before), study.catalogue(after))
    if before.prompt != after.prompt:
        found += _prompts(study, before, after)
    if before.model != after.model:
        found.append(f"model: {before.model} -> {after.model}")
    for name in sorted(before.params.keys() | after.params.keys()):
        if before.params.get(name) != after.params.get(name):
            found.append(f"{name}: {before.params.get(name)!r} -> {after.params.get(name)!r}")
    text = "\n".join(found)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def _tools(before: Catalogue, after: Catalogue) -> list[str]:
    old, new = ({tool.name: tool for tool in catalogue.tools} for catalogue in (before, after))
    found = [f"+ {name}" for name in new if name not in old]
    found += [f"- {name}" for name in old if name not in new]
    for name in old.keys() & new.keys():
        if old[name].description != new[name].description:
            found.append(f"~ {name}: description {old[name].description!r} -> {new[name].description!r}")
        if old[name].input_schema != new[name].input_schema:
            found.append(f"~ {name}: schema")
    return sorted(found)


def _prompts(study: Study, before: Rung, after: Rung) -> list[str]:
    texts = [study.prompts[rung.prompt].splitlines() if rung.prompt else [] for rung in (before, after)]
    if texts[0] == texts[1] and (before.prompt is None) == (after.prompt is None):
        return []
    return list(unified_diff(texts[0], texts[1], str(before.prompt), str(after.prompt), lineterm="", n=0))
