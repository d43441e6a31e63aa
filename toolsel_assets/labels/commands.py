"""`toolsel label`: from a drawn sample to a released label set version, thin over this stage.

What belongs here: options, files in and out, messages. What does not: exit codes and finding the study (cli/), and
everything that is decided or computed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from toolsel_assets import store
from toolsel_assets.labels import agreement as agreements
from toolsel_assets.labels import csv_form, label_studio
from toolsel_assets.labels.adjudication import UNION, WORDS
from toolsel_assets.labels.answer_files import read_answers
from toolsel_assets.labels.assets import traced_messages
from toolsel_assets.labels.drafts import Draft, Pinned, begin, read_draft, read_work_list, release, release_by_hand
from toolsel_assets.labels.lines import read_lines, write_lines, write_text
from toolsel_assets.labels.page import PageState, page
from toolsel_assets.labels.proposals import Proposal, Proposed, write_proposals
from toolsel_assets.labels.versions import Record, Window, read_label_set
from toolsel_assets.resources import Workspace
from toolsel_assets.study import Study
from toolsel_assets.vocabulary.figure import percent
from toolsel_assets.vocabulary.label import State
from toolsel_assets.vocabulary.problem import BadInput
from toolsel_assets.vocabulary.tool import Tool

Say = Callable[[str], None]


class Proposals(Protocol):
    """What was proposed for a state: out of how many, and how often each action."""

    @property
    def asked(self) -> int:
        """Give how often the state was asked."""

    @property
    def actions(self) -> Counter[str | None]:
        """Count each tool that was called, None for calling nothing."""


#: Asks about states, given their messages and tools; the command line brings it, since stages do not know each other.
Ask = Callable[[Study, Mapping[str, list[dict[str, Any]]], Mapping[str, Sequence[Tool]]], Mapping[str, Proposals]]

SAMPLED = """
select decision_id, thread_id, last_message, prior_actions, catalogue_hash, bucket, rank
from samples.sampled_states join traces.decisions using (decision_id)
order by run_id, step_index
"""

WINDOW = """
select min(decided_at) as since, max(decided_at) as until from traces.decisions where context_complete
"""


def new(workspace: Workspace, name: str, parent: str | None, requests: Path | None, say: Say) -> None:
    """Begin a version: pin the sampled states that no version has labelled, and the written requests."""
    study = workspace.study()
    labels = study.folder / "labels"
    came_from = read_label_set(labels / parent, study.tool_names) if parent else None
    if came_from and not came_from.is_released:
        raise BadInput(str(came_from.name), "the parent is not released", f"toolsel label release {parent}")
    inherited = {row.id for row in came_from.rows} if came_from else set()
    with _sampled(workspace) as con:
        sampled, window = store.rows(con, SAMPLED), store.rows(con, WINDOW)[0]
    by_hash = {catalogue.hash: name for name, catalogue in study.catalogues.items()}
    states = [_pinned(row, by_hash) for row in sampled if row["decision_id"] not in inherited]
    written = list(_written(requests)) if requests else []
    known = {state.id for state in states} | inherited
    if twice := [one.id for one in written if one.id in known]:
        raise BadInput(str(requests), f"id {twice[0]} is a sampled state or a row of {parent}", "an id of its own")
    record = Record(
        parent=parent,
        sample=study.spec.sample,
        window=Window(since=window["since"], until=window["until"]),
    )
    begin(labels / name, record, [*states, *written])
    reused = len(sampled) - len(states)
    say(
        f"labels/{name}: {len(states)} sampled states and {len(written)} written requests to be labelled"
        + (
            f"; {reused} sampled states are labelled in {parent} already, whose {len(inherited)} rows go on"
            if parent
            else ""
        )
    )


def _pinned(row: dict[str, Any], by_hash: dict[str, str]) -> Pinned:
    prior = tuple((row["prior_actions"] or "").split("|")) if row["prior_actions"] else ()
    state = State(thread_id=row["thread_id"], last_message=row["last_message"] or "", prior_actions=prior)
    return Pinned(id=row["decision_id"], state=state, catalogue=by_hash.get(row["catalogue_hash"] or "", ""))


def _written(path: Path) -> Iterator[Pinned]:
    seen = set()
    for where, one in read_lines(path, Pinned, "one written request"):
        if not one.messages:
            raise BadInput(where, f"request {one.id} has no messages", 'messages: [{"role": "user", "content": ...}]')
        if one.id in seen:
            raise BadInput(where, f"id {one.id} for the second time", "each request once")
        seen.add(one.id)
        yield one


@contextmanager
def _sampled(workspace: Workspace) -> Iterator[store.Connection]:
    """Open the warehouse of a study whose sample was drawn."""
    missing = BadInput(str(workspace.data_dir), "no sample was drawn in it", "toolsel sample")
    if not workspace.folder("warehouse.duckdb").exists():
        raise missing
    with workspace.tables(read_only=True) as con:
        if not store.exists(con, "samples.sampled_states"):
            raise missing
        yield con


# --- out ----------------------------------------------------------------------------------------------------------


def write_page(workspace: Workspace, name: str, labeller: str | None, target: Path, say: Say) -> None:
    """Write the labelling page of a version: one file that needs no server."""
    study = workspace.study()
    draft = read_draft(study.folder / "labels" / name, study.tool_names)
    messages = _messages(workspace, draft)
    answered = {answer.id for answer in draft.answers.get(labeller or "", ())}
    states = [
        PageState(id=state.id, messages=messages[state.id], catalogue=state.catalogue, slice=state.slice)
        for state in draft.states.values()
        if state.id not in answered
    ]
    if not states:
        raise BadInput(str(draft.folder), f"{labeller} has answered every state", "another labeller")
    catalogues = {one: _tools(study, one) for one in sorted({state.catalogue for state in states})}
    guide = draft.folder / "GUIDE.md"
    text = page(
        states,
        catalogues,
        title=f"{study.name}: label set {name}",
        version=name,
        labeller=labeller,
        guide=guide.read_text(encoding="utf-8") if guide.is_file() else "",
    )
    write_text(target, text)
    say(f"{target}: {len(states)} states; open it in a browser, then `toolsel label import {name} FILE`")


def export(workspace: Workspace, name: str, form: str, target: Path, say: Say) -> None:
    """Write the states of a version for Label Studio (tasks, and the labelling config beside them) or as a sheet."""
    study = workspace.study()
    draft = read_draft(study.folder / "labels" / name, study.tool_names)
    messages = _messages(workspace, draft)
    states = [
        label_studio.State(state.id, messages[state.id], tuple(tool.name for tool in _tools(study, state.catalogue)))
        for state in draft.states.values()
    ]
    if form == "csv":
        write_text(target, csv_form.write_csv(states))
        say(f"{target}: {len(states)} states; fill it in, then `toolsel label import {name} FILE --labeller NAME`")
        return
    write_text(target, json.dumps(label_studio.export_tasks(states, name), ensure_ascii=False, indent=1))
    config = target.with_suffix(".config.xml")
    write_text(config, label_studio.labelling_config(name))
    say(
        f"{target}: {len(states)} tasks; {config}: the labelling config. One project per labeller, or "
        f"the queue alone: opened from the list, a task shows others' answers. Export as JSON (not JSON-MIN), "
        f"then `toolsel label import {name} FILE --users USERS.json`"
    )


def _messages(workspace: Workspace, draft: Draft) -> dict[str, list[dict[str, Any]]]:
    with _sampled(workspace) as con:
        traced = traced_messages(con, [state.id for state in draft.states.values() if not state.messages])
    found = {}
    for state in draft.states.values():
        if state.messages:
            found[state.id] = list(state.messages)
        elif state.id in traced:
            found[state.id] = json.loads(traced[state.id]["messages"])
        else:
            raise BadInput(
                str(draft.folder / "states.jsonl"),
                f"{state.id} is no decision of the traces",
                "the traces it came from",
            )
    return found


def _tools(study: Study, catalogue: str) -> list[Tool]:
    """Give the tools of a catalogue; those of all catalogues, each name once, where it is not known which."""
    catalogues = [study.catalogues[catalogue]] if catalogue else list(study.catalogues.values())
    return list({tool.name: tool for one in reversed(catalogues) for tool in one.tools}.values())


# --- in -----------------------------------------------------------------------------------------------------------


def import_answers(
    workspace: Workspace,
    name: str,
    file: Path,
    labeller: str | None,
    users: Path | None,
    say: Say,
    *,
    partial: bool,
    replace: bool,
) -> None:
    """Take a labeller's file into a version, all of it or nothing."""
    study = workspace.study()
    draft = read_draft(study.folder / "labels" / name, study.tool_names)
    if draft.record.content_hash:
        raise BadInput(
            str(draft.folder), "is released, and takes no more answers", "toolsel label new NAME --parent ..."
        )
    tools = {
        state.id: frozenset(tool.name for tool in _tools(study, state.catalogue)) for state in draft.states.values()
    }
    answers = read_answers(file, tools, labeller=labeller, users=_users(users), partial=partial, version=name)
    people = sorted({answer.labeller for answer in answers})
    if there := [one for one in people if one in draft.answers and not replace]:
        raise BadInput(str(file), f"{', '.join(there)} has answers in {name} already", "--replace")
    for one in people:
        lines = [answer.model_dump(mode="json", exclude_defaults=True) for answer in answers if answer.labeller == one]
        write_lines(draft.folder / "labellers" / f"{one}.jsonl", (_with_null(line) for line in lines))
        skipped = sum(bool(line.get("skipped")) for line in lines)
        say(
            f"labels/{name}/labellers/{one}.jsonl: {len(lines) - skipped} of {len(draft.states)} states answered, "
            f"{skipped} skipped"
        )


def _with_null(line: dict[str, Any]) -> dict[str, Any]:
    """Write "tool": null, which is a value, where leaving out defaults would drop it."""
    if "valid_actions" in line:
        line["valid_actions"] = [{"tool": None, **action} for action in line["valid_actions"]]
    return line


def _users(path: Path | None) -> dict[str, str] | None:
    if path is None:
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(str(path), f"not JSON: {error}", '{"1": "ana", "ben@example.com": "ben"}') from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise BadInput(str(path), "no mapping of names", '{"1": "ana", "ben@example.com": "ben"}')
    return found


# --- between ------------------------------------------------------------------------------------------------------


def show_agreement(workspace: Workspace, name: str, say: Say, *, as_json: bool) -> None:
    """Print how far the labellers of a version agree."""
    study = workspace.study()
    draft = read_draft(study.folder / "labels" / name, study.tool_names)
    by_state = {one: {answer.id: answer for answer in answers} for one, answers in draft.answers.items()}
    if len(by_state) < 2:
        raise BadInput(str(draft.folder / "labellers"), f"{len(by_state)} labellers' files", "at least two")
    found = agreements.agreement(by_state)
    if as_json:
        say(json.dumps([vars(one) for one in found], indent=2))
        return
    for one in found:
        value = "undefined" if one.value is None else f"{one.value:.3f}"
        interval = f"{one.low:.3f} to {one.high:.3f}" if one.low is not None and one.high is not None else ""
        is_share = one.measure.startswith("exact") and one.n is not None
        share = f"{one.n} of {one.n_states}, {percent(one.n or 0, one.n_states)}" if is_share else ""
        say(f"{one.labellers:<24} {one.measure:<16} {value:>9}  {interval:<16} {share} {one.note or ''}".rstrip())
    say(f"to be adjudicated: {len(draft.undecided)} of {len(draft.states)} states")


def suggest(workspace: Workspace, name: str, by: str, ask: Ask, say: Say) -> None:
    """Ask a model about the states of a version, and write what it proposes. Nobody sees it before their own answer."""
    study = workspace.study()
    draft = read_draft(study.folder / "labels" / name, study.tool_names)
    if draft.record.content_hash:
        raise BadInput(str(draft.folder), "is released", f"toolsel label new NAME --parent {name}")
    tools = {state.id: _tools(study, state.catalogue) for state in draft.states.values()}
    found = ask(study, _messages(workspace, draft), tools)
    today = datetime.now(UTC).date()
    proposals = [
        Proposal(
            id=row_id,
            proposed_by=by,
            asked=one.asked,
            actions=tuple(Proposed(tool=tool, times=n) for tool, n in one.actions.most_common()),
            on=today,
        )
        for row_id, one in found.items()
    ]
    path = write_proposals(draft.folder, slug(by), proposals)
    empty = sum(not one.actions for one in proposals)
    say(
        f"{path}: {len(proposals)} states, {empty} without a usable proposal. They count as nobody's answer and are in "
        f"no page or export; `toolsel label adjudicate {name}` shows them once every labeller has answered"
    )


def slug(text: str) -> str:
    """Make a file's name of a text."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text)


def adjudicate(
    workspace: Workspace,
    name: str,
    source: Path | None,
    decided_by: str | None,
    say: Say,
    *,
    second_look: bool = False,
) -> None:
    """Write the work list of what is undecided, or take a filled-in one into adjudications.jsonl."""
    study = workspace.study()
    draft = read_draft(study.folder / "labels" / name, study.tool_names)
    if draft.record.content_hash:
        raise BadInput(str(draft.folder), "is released", f"toolsel label new NAME --parent {name}")
    if source is None:
        path = draft.folder / "to_adjudicate.jsonl"
        items = draft.work_list(second_look=second_look)
        write_lines(path, items)
        offered = sum("union_offered" in item for item in items)
        say(
            f"{path}: {len(items)} states to be decided; on {offered} every answer is defensible to the other, and "
            f"the union is offered. Fill in resolution (a labeller's name, {', '.join(WORDS)}; `{UNION}` takes what is "
            f"offered), reason, decided_by and date, then `toolsel label adjudicate {name} --from FILE`"
        )
        return
    decisions = read_work_list(source, draft, study.tool_names, decided_by, datetime.now(UTC).date())
    if not decisions:
        raise BadInput(str(source), "no line has a resolution", "at least one")
    all_of = (*draft.adjudications, *decisions)
    lines = (one.model_dump(mode="json", exclude_defaults=True) for one in all_of)
    write_lines(draft.folder / "adjudications.jsonl", (_with_null(line) for line in lines))
    left = read_draft(draft.folder, study.tool_names).undecided
    say(f"labels/{name}/adjudications.jsonl: {len(decisions)} decisions added, {len(left)} states still to be decided")


def release_version(workspace: Workspace, name: str, say: Say, *, without_unanswered: bool) -> None:
    """Release a version."""
    study = workspace.study()
    folder, today = study.folder / "labels" / name, datetime.now(UTC).date()
    if (folder / "labels.jsonl").is_file() and not (folder / "states.jsonl").is_file():
        found = release_by_hand(read_label_set(folder, study.tool_names), folder, today)
    else:
        draft = read_draft(folder, study.tool_names)
        found = release(draft, today, without_unanswered=without_unanswered)
    read_label_set(folder, study.tool_names)
    classes = ", ".join(f"{n} {row_class}" for row_class, n in sorted(found.class_counts().items()))
    say(f"{found.version}: {len(found.rows)} rows ({classes}), released; a ladder uses it with `label_set: {name}`")


def show_versions(workspace: Workspace, say: Say) -> None:
    """Print every version and what is still open in it."""
    study = workspace.study()
    folders = sorted(path for path in (study.folder / "labels").glob("*") if path.is_dir())
    if not folders:
        raise BadInput(str(study.folder / "labels"), "there is no version", "toolsel label new NAME")
    for folder in folders:
        if not (folder / "states.jsonl").is_file():
            found = read_label_set(folder, study.tool_names)
            stands = f"released {found.record.released}" if found.is_released else "not released"
            say(f"{found.version:<16} {len(found.rows)} rows, made by hand, {stands}")
            continue
        draft = read_draft(folder, study.tool_names)
        if draft.record.content_hash:
            found = read_label_set(folder, study.tool_names)
            say(f"{found.version:<16} {len(found.rows)} rows, released {draft.record.released}")
            continue
        people = ", ".join(f"{one} {len(answers)}" for one, answers in draft.answers.items()) or "nobody yet"
        say(
            f"{folder.name:<16} draft: {len(draft.states)} states; answers: {people}; "
            f"{len(draft.unanswered)} unanswered, {len(draft.undecided)} to be decided"
        )
