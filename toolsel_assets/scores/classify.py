"""Judge one choice against its label: which of the seven kinds it is, and why (seeds/no_tool_cases, `score_action`).

The essay's own code is followed where it can be: same keys, same names. Three things differ, because the essay's
figures do not come out of its code: a forbidden call always wins (its "three forbidden" are rows whose valid set
holds null, where its code says tool_when_none_needed), any acceptable specification of a tool may match rather than
the first, and a set of parallel calls is scored as a set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolsel_assets.scores.arguments import FieldCheck, Rules, compare, mismatches
from toolsel_assets.scores.match import assign
from toolsel_assets.vocabulary.action import NO_TOOL, Call, action_text
from toolsel_assets.vocabulary.kind import Kind
from toolsel_assets.vocabulary.label import LabelRow, ValidAction

#: How several calls in one decision are scored; two figures are compared only under the same convention.
CONVENTION = "set"


@dataclass(frozen=True)
class Judgement:
    """What a choice was. `args_ok` is None when the agent gives no arguments, so that there is nothing to judge."""

    kind: Kind
    reason: str
    chosen: str
    tool_ok: bool
    args_ok: bool | None


def score_action(predicted: Sequence[Call], row: LabelRow, rules: Mapping[str, Rules] | None = None) -> Judgement:
    """Score the calls that an agent emitted in one decision (none at all: the choice of no tool) against a label.

    `rules` maps a tool to the rule of each of its arguments. Only decisions that were called or stopped come here.
    """
    forbidden = [call for call in predicted if call.tool in row.forbidden_actions]
    if forbidden:
        return _wrong(Kind.FORBIDDEN, f"{forbidden[0].tool} is forbidden in this state", forbidden[0].tool)
    if not predicted:
        if row.allows_no_tool:
            return Judgement(Kind.OK_NO_TOOL, "calling nothing is acceptable", NO_TOOL, True, True)
        return _wrong(Kind.NONE_WHEN_TOOL_NEEDED, f"a call was needed: {' or '.join(row.valid_tools)}", NO_TOOL)

    specs = [action for action in row.valid_actions if action.tool is not None]
    left_over, missing = assign(predicted, specs, lambda call, action: call.tool == action.tool)
    if left_over or missing:
        return _wrong_names(predicted, row, left_over, missing)
    return _judge_arguments(predicted, specs, rules or {})


def _wrong(kind: Kind, reason: str, chosen: str) -> Judgement:
    return Judgement(kind, reason, chosen, tool_ok=False, args_ok=False)


def _wrong_names(
    predicted: Sequence[Call], row: LabelRow, left_over: Sequence[Call], missing: Sequence[ValidAction]
) -> Judgement:
    if not left_over:
        return _wrong(Kind.WRONG_TOOL, f"the required call of {missing[0].tool} is absent", predicted[0].tool)
    chosen = left_over[0].tool
    if chosen in row.valid_tools:
        reason = f"{chosen} was called more often than the label accepts"
    else:
        reason = f"{chosen} is not acceptable here; acceptable: {' or '.join(_acceptable(row))}"
    kind = Kind.TOOL_WHEN_NONE_NEEDED if row.allows_no_tool else Kind.WRONG_TOOL
    return _wrong(kind, reason, chosen)


def _acceptable(row: LabelRow) -> list[str]:
    return list(dict.fromkeys(action.tool or NO_TOOL for action in row.valid_actions))


def _judge_arguments(predicted: Sequence[Call], specs: Sequence[ValidAction], rules: Mapping[str, Rules]) -> Judgement:
    chosen = predicted[0].tool
    if any(call.args is None for call in predicted):
        return Judgement(
            Kind.OK, f"{action_text(predicted)} is acceptable; the agent gives no arguments", chosen, True, None
        )

    def fits(call: Call, action: ValidAction) -> bool:
        return call.tool == action.tool and not problems(call, action, rules)

    left_over, missing = assign(predicted, specs, fits)
    if not left_over and not missing:
        return Judgement(Kind.OK, f"{action_text(predicted)} is acceptable", chosen, True, True)
    call = left_over[0] if left_over else next(call for call in predicted if call.tool == missing[0].tool)
    nearest = min((problems(call, spec, rules) for spec in specs if spec.tool == call.tool), key=len)
    reason = f"{call.tool}: {'; '.join(nearest) or 'its arguments fit an action that another call takes'}"
    return Judgement(Kind.RIGHT_TOOL_WRONG_ARGS, reason, call.tool, tool_ok=True, args_ok=False)


def field_checks(predicted: Sequence[Call], row: LabelRow, rules: Mapping[str, Rules]) -> list[list[FieldCheck]]:
    """Give what came of each field of each call, beside the action of its tool that it is nearest to.

    A list per call; empty for a call whose tool the label does not accept, or accepts with any arguments.
    """
    found = []
    for call in predicted:
        specs = [action for action in row.valid_actions if action.tool == call.tool and action.args is not None]
        compared = [compare(spec.args or {}, call.args or {}, rules.get(call.tool, {})) for spec in specs]
        found.append(min(compared, key=lambda checks: sum(not check.ok for check in checks), default=[]))
    return found


def problems(call: Call, action: ValidAction, rules: Mapping[str, Rules]) -> list[str]:
    """Say how a call's arguments break an action's; an action without arguments accepts any."""
    if action.args is None:
        return []
    return mismatches(action.args, call.args or {}, rules.get(call.tool, {}))
