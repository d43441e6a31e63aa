import json

from toolsel_assets.scores.assets import bridged
from toolsel_assets.vocabulary.label import LabelRow


def label(*tools: str | None) -> str:
    row = {"id": "r1", "valid_actions": [{"tool": tool} for tool in tools], "labelled_by": ["ana"]}
    return LabelRow.model_validate(row).model_dump_json()


HERE = {"ladder": "growth", "rung": "base", "request_id": "r1"}
CALLS = json.dumps([{"tool": "refund_order", "args": {}}])


def test_one_choice_is_judged_under_both_versions() -> None:
    row = {**HERE, "calls": CALLS, "label": label(None), "other_label": label("refund_order")}
    (found,) = bridged([row], {}, {("growth", "base"): frozenset({"refund_order"})})
    assert (found["correct"], found["kind"], found["expected"]) == (False, "tool_when_none_needed", "(no tool)")
    assert (found["other_correct"], found["other_kind"]) == (True, "ok")
    assert found["chosen"] == found["other_chosen"] == "refund_order" and found["other_reason"]
    assert "label" not in found and "calls" not in found


def test_a_label_whose_tool_the_rung_lacks_does_not_apply() -> None:
    row = {**HERE, "calls": "[]", "label": label(None), "other_label": label("refund_order")}
    (found,) = bridged([row], {}, {("growth", "base"): frozenset({"get_order"})})
    assert found["correct"] and found["other_correct"] is None and found["other_kind"] == "not_applicable"
