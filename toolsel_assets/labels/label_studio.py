"""Label Studio, out and in: tasks, the labelling config, and the JSON export as lines of JSONL.

What belongs here: Label Studio's forms and what they mean. What does not: checks that answers of every form need, such
as catalogues and missing states (answer_files.py). Label Studio itself is no dependency: it exchanges files with us.

A task holds what the labeller is to see and nothing of what the agent did next. The server does not check choices
against a task's own list, keys by ids of its own and lets one user annotate a task twice; so what comes back is keyed
by the decision's id and the label set version, and checked as a file that a person wrote.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, get_args
from xml.sax.saxutils import quoteattr

from toolsel_assets.vocabulary.action import NO_TOOL
from toolsel_assets.vocabulary.chat import text_of
from toolsel_assets.vocabulary.label import Reply
from toolsel_assets.vocabulary.problem import BadInput, known_names

REPLIES: tuple[str, ...] = get_args(Reply)
#: The questions of the config; an export that answers others was made with another config.
CHOICES, TEXTS = ("valid", "preferred", "forbidden", "reply", "unsure"), ("args", "reason", "note")

_JSON_MIN = (
    "a JSON-MIN export of Label Studio, which turns a set of one action into bare text and leaves skips out, so that "
    "answers cannot be told apart"
)
#: Line breaks are shown, long messages scroll, and times, which Paragraphs shows as 00:00:00, are hidden.
_STYLE = """
    .lsf-paragraphs span { white-space: pre-wrap; }
    .lsf-paragraphs [data-testid^="phrase:"] { max-height: 18em; overflow-y: auto; }
    .lsf-paragraphs [class^="time"] { display: none; }
  """
_ASK_ARGS = (
    'Arguments, where only certain ones are acceptable; for each acceptable call a line of  tool: {"name": "value"}'
)


@dataclass(frozen=True)
class State:
    """What a labeller is shown: the messages so far, in OpenAI chat form, and the names of the agent's tools."""

    id: str
    messages: Sequence[Mapping[str, Any]]
    tools: tuple[str, ...]


# --- out ----------------------------------------------------------------------------------------------------------


def export_tasks(states: Sequence[State], version: str) -> list[dict[str, Any]]:
    """Give the tasks to import into a project of Label Studio, one a state."""
    return [
        {
            "data": {
                "decision_id": state.id,
                "label_set_version": version,
                "messages": _dialogue(state.messages),
                "actions": [{"value": name} for name in (NO_TOOL, *state.tools)],
                "tools": [{"value": name} for name in state.tools],
            }
        }
        for state in states
    ]


def _dialogue(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Give messages as Label Studio's Paragraphs shows them: calls as text, results under their tool's name."""
    name_of: dict[str, str] = {}
    found = []
    for message in messages:
        role, texts = str(message.get("role", "user")), [text_of(message.get("content"))]
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            name = name_of[str(call.get("id"))] = str(function.get("name", ""))
            texts.append(f"[calls {name} {function.get('arguments') or ''}".rstrip() + "]")
        if role == "tool":
            role = f"tool {message.get('name') or name_of.get(str(message.get('tool_call_id')), '')}".strip()
        found.append({"role": role, "content": "\n".join(text for text in texts if text)})
    return found


def labelling_config(version: str) -> str:
    """Write the labelling config (XML) of a project. The choices are each task's own catalogue.

    The order in which choices are clicked is not kept, hence the question which is preferred. A labeller sees the
    others' answers in the project's list of tasks and does not in its queue ("Label All Tasks"); the queue gives a task
    to one person only, unless the project's maximum_annotations says otherwise. A project for each labeller is safest.
    """
    if_no_tool = f'visibleWhen="choice-selected" whenTagName="valid" whenChoiceValue={quoteattr(NO_TOOL)}'
    replies = "".join(f"\n      <Choice value={quoteattr(reply)}/>" for reply in REPLIES)
    return f"""<View>
  <Style>{_STYLE}</Style>
  <Header value={quoteattr(f"Label set {version}: state $decision_id")}/>
  <Paragraphs name="dialogue" value="$messages" layout="dialogue" nameKey="role" textKey="content"/>
  <Header value="What may the agent do next? Choose every action that is acceptable; (no tool) is calling nothing."/>
  <Choices name="valid" toName="dialogue" value="$actions" choice="multiple" required="true"
    requiredMessage="At least one acceptable action; Skip if you cannot say."/>
  <View {if_no_tool}>
    <Header size="5" value="(no tool): which message takes the call's place? Any of those chosen."/>
    <Choices name="reply" toName="dialogue" choice="multiple" showInline="true">{replies}
    </Choices>
  </View>
  <Header size="5" value="If several are acceptable: the one that you would prefer."/>
  <Choices name="preferred" toName="dialogue" value="$actions" choice="single" layout="select"/>
  <Header size="5" value="Tools whose call would be wrong here, not just needless."/>
  <Choices name="forbidden" toName="dialogue" value="$tools" choice="multiple"/>
  <Header size="5" value={quoteattr(_ASK_ARGS)}/>
  <TextArea name="args" toName="dialogue" rows="3" maxSubmissions="1" editable="true"/>
  <Header size="5" value="Why? For one action alone write  tool: why  or  (no tool): why  on a line of its own."/>
  <TextArea name="reason" toName="dialogue" rows="2" maxSubmissions="1" editable="true"/>
  <Header size="5" value="Are you unsure?"/>
  <Choices name="unsure" toName="dialogue" choice="single" showInline="true">
    <Choice value="no"/>
    <Choice value="yes"/>
  </Choices>
  <Header size="5" value="A note"/>
  <TextArea name="note" toName="dialogue" rows="1" maxSubmissions="1" editable="true"/>
</View>
"""


# --- in -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Given:
    """One annotation that counts: where it is, when it was last saved, and the line that it becomes."""

    place: str
    updated_at: str
    line: dict[str, Any]

    @property
    def says(self) -> str:
        """What was answered, without when and how long it took."""
        return json.dumps({**self.line, "labelled_at": None, "seconds": None}, sort_keys=True)


def read_export(
    document: list[Any],
    where: str,
    users: Mapping[str, str],
    *,
    labeller: str | None = None,
    version: str | None = None,
) -> Iterator[tuple[str, dict[str, Any]] | BadInput]:
    """Give each annotation of a JSON export as (place, line of JSONL), or why it is none.

    `users` names the users by id or e-mail; `labeller` names the only one. Drafts and predictions are no answers.
    """
    _refuse_other_forms(document, where)
    names = _names(document, users, labeller)
    if nameless := sorted(who for who, name in names.items() if name is None):
        told = (
            f"no name for the users {', '.join(nameless)}" if len(nameless) > 1 else f"no name for user {nameless[0]}"
        )
        pattern = json.dumps({who.split(" ")[0]: "NAME" for who in nameless})
        yield BadInput(where, told, f"--users FILE with {pattern}")
    found: dict[tuple[str, str], list[_Given]] = defaultdict(list)
    for number, task in enumerate(document, start=1):
        place = f"{where}, task {task.get('id', number)}"
        try:
            decision_id = _decision_id(task, place, version or _version(document))
        except BadInput as error:
            yield error
            continue
        for annotation in task["annotations"]:
            name = names[_who(annotation)]
            if name is None:
                continue
            try:
                given = _given(annotation, f"{place}, annotation {annotation.get('id')}", decision_id, name)
            except BadInput as error:
                yield error
                continue
            found[name, decision_id].append(given)
    for of_one in found.values():
        yield _one_answer(of_one)


def _refuse_other_forms(document: list[Any], where: str) -> None:
    for task in document:
        if not isinstance(task, dict):
            raise BadInput(where, "a JSON list whose items are no objects", "a JSON export of Label Studio")
        if "valid_actions" in task:
            raise BadInput(
                where, "answers as a JSON list", "one answer a line, without brackets and commas around them"
            )
        if "annotation_id" in task or ("decision_id" in task and "data" not in task):
            raise BadInput(where, _JSON_MIN, "the same project exported as JSON")
        if not isinstance(task.get("data"), dict):
            raise BadInput(where, "a JSON list whose items have no data", "a JSON export of Label Studio")
        if not _are_objects(task.get("annotations")):
            raise BadInput(
                where, "tasks without annotations: what Label Studio imports", "what it exports, in the form JSON"
            )


def _are_objects(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _version(document: list[Any]) -> object:
    """Without a version to expect, all tasks are to be of one: the first one's."""
    return next((task["data"].get("label_set_version") for task in document), None)


def _decision_id(task: Mapping[str, Any], place: str, version: object) -> str:
    data = task["data"]
    decision_id, of_version = data.get("decision_id"), data.get("label_set_version")
    if not isinstance(decision_id, str) or not decision_id or not isinstance(of_version, str):
        raise BadInput(place, "its data has no decision_id or no label_set_version", "tasks that toolsel exported")
    if of_version != version:
        raise BadInput(place, f"a task of label set version {of_version}", f"tasks of {version}")
    return decision_id


def _who(annotation: Mapping[str, Any]) -> str:
    """Name a user as the export does: `3`, or `3 (ben@example.com)` in exports that hold the user as an object."""
    user = annotation.get("completed_by")
    if not isinstance(user, dict):
        return str(user)
    return f"{user.get('id')} ({user['email']})" if user.get("email") else str(user.get("id"))


def _names(document: list[Any], users: Mapping[str, str], labeller: str | None) -> dict[str, str | None]:
    everybody = dict.fromkeys(_who(annotation) for task in document for annotation in task["annotations"])
    by_key = {key.strip().lower(): name for key, name in users.items()}
    names: dict[str, str | None] = {}
    for who in everybody:
        number, _, email = who.partition(" ")
        names[who] = by_key.get(number.lower()) or by_key.get(email.strip("()").lower())
    if labeller and len(names) == 1:
        names = {who: name or labeller for who, name in names.items()}
    return names


def _one_answer(of_one: list[_Given]) -> tuple[str, dict[str, Any]] | BadInput:
    """Choose between the annotations of one person on one state, or say that they have to.

    To revise an answer Label Studio saves the same annotation again, so two are an accident, and the newer one is not
    known to be the better one. An answer takes the place of an earlier skip; the same answer twice is one answer.
    """
    in_order = sorted(of_one, key=lambda given: given.updated_at)
    newest = in_order[-1]
    others = [given for given in in_order[:-1] if not given.line.get("skipped") and given.says != newest.says]
    if not others:
        return newest.place, newest.line
    line = newest.line
    which = ", ".join(given.place.rsplit(", ", 2)[-2] + " " + given.place.rsplit(", ", 1)[-1] for given in in_order)
    told = f"{line['labelled_by'][0]} answered {line['id']} {len(of_one)} times, not the same each time: {which}"
    return BadInput(newest.place, told, "one answer of a person to a state; delete the others in Label Studio")


def _given(annotation: Mapping[str, Any], place: str, decision_id: str, name: str) -> _Given:
    updated_at = str(annotation.get("updated_at") or annotation.get("created_at") or "")
    line: dict[str, Any] = {"id": decision_id, "labelled_by": [name]}
    if updated_at:
        line["labelled_at"] = updated_at
    if isinstance(annotation.get("lead_time"), int | float):
        line["seconds"] = annotation["lead_time"]
    # What was chosen before the labeller skipped stays in the result; it is no answer.
    line |= {"skipped": True} if annotation.get("was_cancelled") else _answer(_results(annotation, place), place)
    return _Given(place, updated_at, line)


def _results(annotation: Mapping[str, Any], place: str) -> dict[str, list[str]]:
    """Give question -> chosen values or texts."""
    found: dict[str, list[str]] = {}
    results = annotation.get("result")
    if not _are_objects(results):
        raise BadInput(place, "its result is no list of objects", "a JSON export of Label Studio")
    for result in results:
        name, value = str(result.get("from_name")), result.get("value")
        if name not in (*CHOICES, *TEXTS):
            raise BadInput(
                place, f"an answer to {name!r}", f"the config that toolsel wrote; {known_names(name, CHOICES)}"
            )
        texts = value.get("choices" if name in CHOICES else "text") if isinstance(value, dict) else None
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise BadInput(place, f"{name}: no list of texts", "the config that toolsel wrote")
        found.setdefault(name, []).extend(texts)
    return found


def _answer(given: Mapping[str, list[str]], place: str) -> dict[str, Any]:
    names = list(dict.fromkeys([*given.get("preferred", ()), *given.get("valid", ())]))
    if not given.get("valid"):
        raise BadInput(
            place, "an empty set of acceptable actions", f"{NO_TOOL} for calling nothing, Skip for no answer"
        )
    if strange := [name for name in given.get("preferred", ()) if name not in given["valid"]]:
        raise BadInput(place, f"preferred: {strange[0]} is not among the acceptable actions", ", ".join(given["valid"]))
    # The question of replies is hidden once (no tool) is taken back; what was chosen before is nobody's answer.
    replies = given.get("reply", ()) if NO_TOOL in given["valid"] else ()
    reason = "\n".join(given.get("reason", ())).strip()
    args = typed_args("\n".join(given.get("args", ())), names, place)
    note = "\n".join(given.get("note", ())).strip()
    return {
        "valid_actions": actions_of(names, replies, place, reason=reason, args=args),
        "forbidden_actions": list(dict.fromkeys(given.get("forbidden", ()))),
        "unsure": "yes" in given.get("unsure", ()),
        "note": note or None,
    }


# --- what people type ---------------------------------------------------------------------------------------------


def actions_of(
    names: Sequence[str],
    replies: Sequence[str],
    place: str,
    *,
    reason: str = "",
    args: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> list[dict[str, Any]]:
    """Put acceptable actions together from names in order of preference, with an entry for every reply and argument.

    A reason counts for all actions, but for lines that begin with `tool:`, which are that action's own.
    """
    if replies and NO_TOOL not in names:
        raise BadInput(
            place, f"reply: {', '.join(replies)}, but {NO_TOOL} is not acceptable", f"a reply with {NO_TOOL}"
        )
    for reply in replies:
        if reply not in REPLIES:
            raise BadInput(place, f"reply: {reply!r}", known_names(reply, REPLIES))
    own, common = _reasons(reason, names)
    found: list[dict[str, Any]] = []
    for name in dict.fromkeys(names):
        why = {"reason": text} if (text := own.get(name, common)) else {}
        if name == NO_TOOL:
            found += [{"tool": None, "reply": reply, **why} for reply in dict.fromkeys(replies)] or [
                {"tool": None, **why}
            ]
        else:
            specs = (args or {}).get(name, ())
            found += [{"tool": name, "args": spec, **why} for spec in specs] or [{"tool": name, **why}]
    return found


def _reasons(text: str, names: Sequence[str]) -> tuple[dict[str, str], str]:
    own: dict[str, list[str]] = defaultdict(list)
    common: list[str] = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        name, rest = _led_by(line, names)
        (own[name] if name else common).append(rest)
    return {name: "\n".join(lines) for name, lines in own.items()}, "\n".join(common)


def _led_by(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Split `name: rest`, or give no name. A name may have a colon in it, so that the longest one counts."""
    for name in sorted(names, key=len, reverse=True):
        after = text[len(name) :].lstrip(" \t")
        if text.startswith(name) and after.startswith(":"):
            return name, after[1:].lstrip()
    return "", text


def typed_args(text: str, names: Sequence[str], place: str) -> dict[str, list[dict[str, Any]]]:
    """Read `tool: {json}` entries, each beginning a line; several of one tool are several acceptable calls."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    accepted = 'tool: {"name": "value"}, each on a line of its own'
    tools = [name for name in names if name != NO_TOOL]
    rest = text.strip()
    while rest:
        name, rest = _led_by(rest, tools)
        if not name:
            other, colon, _ = rest.partition(":")
            if not colon or len(other.split()) != 1:
                raise BadInput(place, f"args: {_shown(rest)}", accepted)
            raise BadInput(place, f"args: {other.strip()} is not among the acceptable tools", known_names(other, tools))
        try:
            value, end = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError) as error:
            raise BadInput(place, f"args of {name}: not JSON: {error}: {_shown(rest)}", accepted) from error
        if not isinstance(value, dict):
            raise BadInput(place, f"args of {name}: {_shown(rest)} is no JSON object", accepted)
        found[name].append(value)
        rest = rest[end:].lstrip(" \t\r\n,;")
    return dict(found)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "...")
