"""Each rule with an example that it accepts, rejects and cannot decide."""

from typing import Any

import pytest

from toolsel_assets.verdict.evidence import Evidence, requests_of
from toolsel_assets.verdict.rules import Finding, apply_rules, overall
from toolsel_assets.vocabulary.criteria import RULES, Criteria


def rows(tool: str, n: int, before: int | None, now: int, chosen: str = "other", **more: Any) -> list[dict[str, Any]]:
    """n requests for a tool, of which the first `before` were right and the last `now` are (so losses come first)."""
    return [
        {
            "request_id": f"{tool}-{i}-{more.get('tag', '')}",
            "expected": tool,
            "row_class": "none" if tool == "(no tool)" else "single",
            "chosen": tool if i >= n - now else chosen,
            "kind": more.get("kind", "ok" if i >= n - now else "wrong_tool"),
            "correct": i >= n - now,
            "correct_before": None if before is None else i < before,
        }
        for i in range(n)
    ]


def evidence(*groups: list[dict[str, Any]], volumes: dict[str, float] | None = None, **more: Any) -> Evidence:
    found = requests_of([row for group in groups for row in group])
    tools = {request.expected for request in found}
    return Evidence(
        ladder="l",
        rung="r",
        slice=more.get("slice", "existing"),
        requests=found,
        volumes=volumes or {tool: 1 / len(tools) for tool in tools},
        n_volumes=10_000,
        rho=1.0,
        seed_range_pp=more.get("seed_range_pp"),
    )


def find(found: Evidence, rule: str, threshold: float, **more: Any) -> dict[str, Finding]:
    return {f.subject: f for f in apply_rules(found, Criteria.model_validate({rule: threshold, **more}))}


def test_the_collapse_from_23_to_11_of_24_is_rejected_in_words_that_a_reviewer_reads() -> None:
    collapse = rows("refund_order", 24, 24, 12)  # 12 losses and no gain
    calm = [rows(f"tool_{i}", 24, 24, 24) for i in range(29)]
    found = find(evidence(collapse, *calm), "max_tool_drop_pp", 5)["refund_order"]
    assert found.state == "reject"
    assert found.p == 2**-12 and round(found.p_adjusted or 1, 4) == 0.0073
    assert "24 of 24 before, 12 of 24 now (-50.0 points)" in found.sentence
    assert len(found.request_ids) == 12


def test_no_change_on_24_requests_is_not_enough_to_accept() -> None:
    found = find(evidence(rows("a", 24, 24, 24)), "max_tool_drop_pp", 5)["a"]
    assert found.state == "not_enough_data" and "28 more requests" in found.sentence


def test_no_change_on_52_requests_is_accepted() -> None:
    assert find(evidence(rows("a", 52, 52, 52)), "max_tool_drop_pp", 5)["a"].state == "accept"


def test_a_large_drop_on_few_requests_is_a_suspect_and_no_reject() -> None:
    found = find(evidence(rows("a", 4, 4, 3)), "max_tool_drop_pp", 5)["a"]
    assert found.state == "not_enough_data" and "a suspect" in found.sentence


def test_a_tool_with_volume_and_without_requests_is_named() -> None:
    found = find(evidence(rows("a", 60, 60, 60), volumes={"a": 0.9, "b": 0.1}), "max_tool_drop_pp", 5)
    assert found["b"].state == "not_enough_data" and "no labelled request expects it" in found["b"].sentence


def test_a_tool_without_meaningful_volume_does_not_count() -> None:
    found = evidence(rows("a", 60, 60, 60), rows("rare", 24, 24, 0), volumes={"a": 0.99, "rare": 0.01})
    assert set(find(found, "max_tool_drop_pp", 5, meaningful_volume=0.05)) == {"a"}


def test_a_difference_below_the_seed_spread_is_said_to_be_noise() -> None:
    found = find(evidence(rows("a", 100, 100, 99), seed_range_pp=2.2), "max_tool_drop_pp", 5)["a"]
    assert "within noise" in found.sentence


def test_requests_of_a_new_capability_have_no_base_figure() -> None:
    found = evidence(rows("a", 60, 60, 30), slice="new:x")
    for rule, threshold in (("max_tool_drop_pp", 5), ("max_pair_share", 0.5), ("min_weighted_change_pp", -2)):
        assert {f.state for f in find(found, rule, threshold).values()} == {"not_applicable"}


def test_eleven_of_seventeen_new_failures_in_one_pair_are_too_many() -> None:
    found = evidence(
        rows("refund_order", 11, 11, 0, chosen="open_dispute"),
        *[rows(f"t{i}", 1, 1, 0, chosen=f"u{i}") for i in range(6)],
    )
    (finding,) = find(found, "max_pair_share", 0.25).values()
    assert finding.state == "reject" and finding.subject == "refund_order -> open_dispute"
    assert "11 of 17 new failures (64.7 %)" in finding.sentence


def test_the_denominator_of_a_pairs_share_is_the_one_that_was_committed() -> None:
    old = rows("b", 27, 0, 0, chosen="c")
    found = evidence(rows("a", 11, 11, 0, chosen="b"), old)
    (all_of_them,) = find(found, "max_pair_share", 0.5, pair_share_of="all_failures").values()
    assert all_of_them.subject == "b -> c" and "27 of 38 failures" in all_of_them.sentence
    (new,) = find(found, "max_pair_share", 0.5, pair_share_of="new_failures").values()
    assert "11 of 11 new failures" in new.sentence


def test_one_failure_in_one_pair_is_no_evidence() -> None:
    (finding,) = find(evidence(rows("a", 30, 30, 29)), "max_pair_share", 0.25).values()
    assert finding.state == "not_enough_data"


def test_no_failure_at_all_is_accepted() -> None:
    (finding,) = find(evidence(rows("a", 30, 30, 30)), "max_pair_share", 0.25).values()
    assert finding.state == "accept" and "no new failures" in finding.sentence


def test_the_weighted_change_follows_traffic_and_not_the_label_set() -> None:
    found = evidence(
        rows("refund_order", 24, 24, 12), rows("rest", 376, 376, 376), volumes={"refund_order": 0.31, "rest": 0.69}
    )
    (finding,) = find(found, "min_weighted_change_pp", -2).values()
    assert finding.state == "reject" and "-15.5 points" in finding.sentence and "refund_order" in finding.sentence


def test_no_change_on_many_requests_keeps_the_weighted_rate() -> None:
    found = evidence(rows("a", 400, 400, 400), rows("b", 400, 400, 400))
    assert find(found, "min_weighted_change_pp", -2)["all tools"].state == "accept"
    few = evidence(rows("a", 20, 20, 20))
    assert find(few, "min_weighted_change_pp", -2)["all tools"].state == "not_enough_data"


def test_labels_that_cover_little_traffic_cannot_speak_for_it() -> None:
    found = evidence(rows("a", 400, 400, 400), volumes={"a": 0.5, "b": 0.5})
    finding = find(found, "min_weighted_change_pp", -2)["all tools"]
    assert finding.state == "not_enough_data" and "50.0 % of logged decisions" in finding.sentence


@pytest.mark.parametrize(
    ("right", "n", "state"), [(13, 31, "reject"), (300, 310, "accept"), (26, 31, "not_enough_data")]
)
def test_the_no_tool_class(right: int, n: int, state: str) -> None:
    (finding,) = find(evidence(rows("(no tool)", n, None, right)), "min_no_tool_rate", 0.8).values()
    assert finding.state == state and f"{right} of {n}" in finding.sentence


def test_a_set_without_the_no_tool_class_is_not_accepted() -> None:
    (finding,) = find(evidence(rows("a", 30, None, 30)), "min_no_tool_rate", 0.8).values()
    assert finding.state == "not_enough_data"


def test_forbidden_calls_are_counted_by_request() -> None:
    found = evidence(rows("a", 30, None, 30), rows("b", 2, None, 0, kind="forbidden"))
    (finding,) = find(found, "max_forbidden", 0).values()
    assert finding.state == "reject" and "on 2 of 32 requests" in finding.sentence
    (finding,) = find(found, "max_forbidden", 2).values()
    assert finding.state == "accept"


def test_every_rule_of_the_criteria_is_a_function_and_every_field_has_its_reason() -> None:
    everything = Criteria.model_validate({name: (-2 if name.startswith("min_w") else 1) for name in RULES})
    found = apply_rules(evidence(rows("a", 30, 30, 30), rows("(no tool)", 5, 5, 5)), everything)
    assert {finding.rule for finding in found} == set(RULES)
    assert all(field.description or name == "meaningful_volume" for name, field in Criteria.model_fields.items())


def test_a_verdict_needs_something_measured() -> None:
    def finding(state: Any) -> Finding:
        return Finding("r", "s", state, "said", 1.0)

    assert overall([])[0] == "not_enough_data"
    assert overall([finding("not_applicable")])[0] == "not_enough_data"
    assert overall([finding("accept"), finding("not_applicable")])[0] == "accept"
    assert overall([finding("accept"), finding("not_enough_data")])[0] == "not_enough_data"
    assert overall([finding("not_enough_data"), finding("reject"), finding("accept")]) == ("reject", "r: said")


def test_several_trials_of_a_request_are_paired_within_it() -> None:
    one = rows("a", 1, 1, 0) + rows("a", 1, 1, 1) + rows("a", 1, 1, 0)
    (request,) = requests_of(one)
    assert (request.trials, request.right, request.right_before, request.difference) == (3, 1, 3, 2)
    assert request.loss_share == pytest.approx(2 / 3) and request.gain_share == 0
