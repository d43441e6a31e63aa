"""The tables of stage 6."""

from toolsel_assets.store import Table, columns

SCORED_ROWS = Table(
    "scores",
    "scored_rows",
    """One row per scorable choice: the label, the choice, which of seven kinds it was, and why.
Choices with another status than called and stopped, and requests that a rung cannot serve, are not here;
replays.rung_runs counts them. `correct` is about the choice of the tool; `args_ok` is the second, separate
question. Not executions: a well-chosen call may still fail. Rows of a replayed prefix flatter the policy: its
errors do not add up.""",
    columns(
        "study",
        "ladder",
        "rung",
        "rung_order",
        "label_set_version",
        "catalogue_hash",
        "model_served",
        "run_date",
        "seed",
        "draw",
        n_tools="INTEGER tools shown",
        prefix="VARCHAR whose run the state is from: own (the rung's model), foreign, or written for the label set",
        request_id="VARCHAR the request",
        slice="VARCHAR existing, or new:<capability>",
        row_class="VARCHAR none, several or single",
        expected="VARCHAR (no tool) for class none, else the labellers' first choice",
        chosen="VARCHAR the tool called, or (no tool); of several, the first unacceptable one, else the first",
        chosen_action="VARCHAR every tool called, sorted, joined by |",
        correct="BOOLEAN whether the choice is acceptable by name",
        pair="VARCHAR expected -> chosen when it is not",
        kind="VARCHAR which of the seven kinds",
        reason="VARCHAR why, in a sentence",
        tool_ok="BOOLEAN the same as correct, under the essay's name",
        args_ok="BOOLEAN whether the arguments are acceptable as well; NULL when the agent gives none",
        convention="VARCHAR how several calls in one decision are scored",
        instrument_version="VARCHAR the version of the scorer; other versions are not comparable",
    ),
)

KIND_MEANINGS = Table(
    "scores",
    "kind_meanings",
    """One row per kind: what it means, and who can act on it.""",
    columns(
        "kind",
        kind_order="INTEGER precedence among the kinds, from 1: a row is the first that fits",
        meaning="VARCHAR what it means",
        owner="VARCHAR who can act on it; empty for what is right",
    ),
)

ARGUMENT_CHECKS = Table(
    "scores",
    "argument_checks",
    """One row per field of a call that was compared with a label: the rule, and what came of it.
Calls whose tool is not acceptable have no rows here, nor have those whose label accepts any arguments: there is nothing
to compare. A call is beside the acceptable action of its tool that it is nearest to. `ignored` fields are rows.""",
    columns(
        "study",
        "ladder",
        "rung",
        "rung_order",
        "label_set_version",
        "slice",
        "seed",
        "draw",
        "request_id",
        call_index="INTEGER which call of the decision, from 0",
        tool="VARCHAR the tool",
        field="VARCHAR the argument",
        rule="VARCHAR the rule that was applied",
        is_declared="BOOLEAN whether a person declared it; else the field was compared as it stands",
        is_ok="BOOLEAN whether the argument is acceptable",
        problem="VARCHAR missing, extra, differs, or utc_offset: a time off by a zone's offset; empty when ok",
        want="VARCHAR the label's value as JSON; NULL where it has none",
        have="VARCHAR the call's value as JSON; NULL where it has none",
        shift_minutes="INTEGER by how much a time is off, for utc_offset",
        reason="VARCHAR what is wrong, in a sentence; empty when ok",
    ),
)

ARGUMENT_RULES = Table(
    "scores",
    "argument_rules",
    """One row per argument of a tool of the study's catalogues: the rule that a person declared, or that none did.""",
    columns(
        "study",
        tool="VARCHAR the tool",
        field="VARCHAR the argument",
        rule="VARCHAR the rule of catalogues/rules.yaml; exact where none is declared",
        is_declared="BOOLEAN whether a person declared it",
    ),
)

BRIDGED_ROWS = Table(
    "scores",
    "bridged_rows",
    """One row per scorable choice and further label set version of the same lineage: the same choice judged
twice. Two versions are two instruments, and a figure under one is not comparable with a figure under the other.
This is the bridge: the same choices on the same requests, with the same messages, under both.""",
    columns(
        "study",
        "ladder",
        "rung",
        "rung_order",
        "label_set_version",
        "slice",
        "seed",
        "draw",
        "request_id",
        other_version="VARCHAR the other version: an ancestor or a descendant of label_set_version",
        expected="VARCHAR what was right under the rung's own version",
        chosen="VARCHAR what was chosen, as judged under it",
        correct="BOOLEAN whether that was acceptable",
        kind="VARCHAR its kind there",
        other_expected="VARCHAR what was right under the other version",
        other_chosen="VARCHAR what was chosen, as judged under it",
        other_correct="BOOLEAN whether that was acceptable there; NULL where the rung cannot serve that label",
        other_kind="VARCHAR its kind there, or not_applicable",
        other_reason="VARCHAR why, in a sentence",
    ),
)
