from collections import defaultdict
from hashlib import md5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from toolsel_assets.samples.stratify import Sketch, capped, draw, merge, merge_alike, quotas, sketch
from toolsel_assets.vocabulary.sampling import Resolution, SampleSpec

IDS = st.lists(st.integers(0, 10_000), unique=True, max_size=200)
FIRST = ("first", "")
CAPS = st.integers(1, 3)


def keyed(ids: list[int], seed: int = 7) -> list[tuple[str, str]]:
    return [(md5(f"{seed}:{i}".encode()).hexdigest(), str(i)) for i in ids]


def alike(ids: list[int], cap: int, seed: int = 7) -> dict[str, Sketch]:
    """Group the ids by what they are modulo 17: a few large groups and no pattern in the keys."""
    groups = defaultdict(list)
    for i in ids:
        groups[str(i % 17)].append(i)
    return {group: sketch(keyed(members, seed), cap) for group, members in groups.items()}


def drawn(ids: list[int], quota: int) -> list[str]:
    rows = draw({FIRST: sketch(keyed(ids), quota)}, {FIRST: quota})
    return [row.candidate.decision_id for row in rows]


@given(IDS, st.integers(1, 50), st.integers(1, 50))
def test_a_larger_quota_keeps_the_earlier_rows(ids: list[int], quota: int, more: int) -> None:
    assert drawn(ids, quota + more)[: len(drawn(ids, quota))] == drawn(ids, quota)


@given(IDS, st.integers(1, 20), st.integers(1, 20), CAPS)
def test_a_larger_quota_keeps_the_earlier_rows_under_a_cap(ids: list[int], quota: int, more: int, cap: int) -> None:
    both = [draw({FIRST: capped(alike(ids, cap), 7, cap, n)}, {FIRST: n}) for n in (quota, quota + more)]
    less, all_of = ([row.candidate.decision_id for row in rows] for rows in both)
    assert all_of[: len(less)] == less


@given(IDS, IDS, st.integers(1, 50))
def test_more_traffic_displaces_rows_only_by_new_rows(ids: list[int], new: list[int], quota: int) -> None:
    before, after = set(drawn(ids, quota)), set(drawn(list({*ids, *new}), quota))
    assert after & set(map(str, ids)) <= before


@given(IDS, IDS, st.integers(1, 20), CAPS)
def test_more_traffic_keeps_the_groups_that_were_drawn_unless_new_ones_displace_them(
    ids: list[int], new: list[int], quota: int, cap: int
) -> None:
    def groups(members: list[int]) -> set[tuple[int, str]]:
        rows = draw({FIRST: capped(alike(members, cap), 7, cap, quota)}, {FIRST: quota})
        return {(int(row.candidate.decision_id) % 17, row.candidate.key) for row in rows}

    known = {one.key for one in capped(alike(ids, cap), 7, cap, 10_000).lowest}
    kept = {one for one in groups(list({*ids, *new})) if one[1] in known}
    assert kept <= groups(ids)


@given(IDS, st.integers(1, 50), st.data())
def test_two_parts_merge_to_the_sketch_of_the_whole(ids: list[int], size: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(ids)))
    parts = merge(sketch(keyed(ids[:cut]), size), sketch(keyed(ids[cut:]), size), size)
    assert parts == sketch(keyed(ids), size)


@given(IDS, st.integers(1, 50), CAPS, st.data())
def test_two_parts_with_a_cap_merge_to_the_sketch_of_the_whole(
    ids: list[int], size: int, cap: int, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(ids)))
    parts = merge_alike(alike(ids[:cut], cap), alike(ids[cut:], cap), cap)
    assert capped(parts, 7, cap, size) == capped(alike(ids, cap), 7, cap, size)


@given(IDS, st.integers(0, 50))
def test_the_weights_of_a_stratum_add_up_to_its_population(ids: list[int], quota: int) -> None:
    rows = draw({FIRST: sketch(keyed(ids), max(quota, 1))}, {FIRST: quota})
    if rows:
        assert abs(sum(row.weight for row in rows) - len(ids)) < 1e-9
    assert len(rows) == min(quota, len(ids))


@given(IDS, CAPS)
def test_the_weights_of_all_that_a_cap_leaves_add_up_to_the_population(ids: list[int], cap: int) -> None:
    rows = draw({FIRST: capped(alike(ids, cap), 7, cap, 10_000)}, {FIRST: 10_000})
    assert abs(sum(row.weight for row in rows) - len(ids)) < 1e-6
    assert all(count <= cap for count in _per_group(row.candidate.decision_id for row in rows).values())


def _per_group(ids: object) -> dict[int, int]:
    counts: dict[int, int] = defaultdict(int)
    for i in ids:  # type: ignore[attr-defined]
        counts[int(i) % 17] += 1
    return counts


@pytest.mark.parametrize("cap", [None, 1, 2])
def test_weighted_totals_are_unbiased_over_seeds(cap: int | None) -> None:
    """Groups of 1 to 60 alike states, a value that depends on the group: over 600 seeds the mean is the truth."""
    population = [(group, member) for group in range(40) for member in range(1 + group * group % 60)]
    ids = [group * 1000 + member for group, member in population]
    truth = sum(i // 1000 % 2 for i in ids)
    estimates = []
    for seed in range(600):
        groups = defaultdict(list)
        for i in ids:
            groups[str(i // 1000)].append(i)
        if cap:
            found = capped({g: sketch(keyed(m, seed), cap) for g, m in groups.items()}, seed, cap, 15)
        else:
            found = sketch(keyed(ids, seed), 15)
        rows = draw({FIRST: found}, {FIRST: 15})
        estimates.append(sum(row.weight * (int(row.candidate.decision_id) // 1000 % 2) for row in rows))
    mean = sum(estimates) / len(estimates)
    error = (sum((one - mean) ** 2 for one in estimates) / len(estimates) / (len(estimates) - 1)) ** 0.5
    assert abs(mean - truth) < 3.3 * error, (mean, truth, error)


def test_a_stratum_without_a_quota_is_not_drawn() -> None:
    assert draw({("late", ""): sketch(keyed([1, 2]), 5)}, {FIRST: 3}) == []


def spec(**more: object) -> SampleSpec:
    return SampleSpec.model_validate({"seed": 1, **more})


def test_the_busiest_tools_get_more_and_no_tool_is_none_of_them() -> None:
    volumes = {"(no tool)": 90, "a": 50, "b": 40, "c": 5, "(truncated)": 70}
    found = {("first", part): Sketch(n, (), n) for part, n in volumes.items()}
    asked = quotas(found, spec(quota={"first": 10}, by="tool", busiest={"tools": 2, "times": 2.5}))
    assert {part: n for (_, part), n in asked.items()} == {
        "(no tool)": 10, "a": 25, "b": 25, "c": 10, "(truncated)": 10,
    }  # fmt: skip


def test_one_number_is_the_quota_of_every_position_and_a_position_not_named_has_none() -> None:
    assert spec(quota=8).quota_of("late") == 8
    assert spec(quota={"first": 3}).quota_of("late") == 0


@pytest.mark.parametrize(("half_width", "rate", "n"), [(10, 0.5, 93), (5, 0.5, 381), (10, 0.9, 37), (49, 0.5, 1)])
def test_a_wanted_resolution_gives_the_smallest_quota_that_reaches_it(half_width: float, rate: float, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

    wanted = Resolution(half_width_pp=half_width, rate=rate)
    assert wanted.n == n

    def half(trials: int) -> float:
        low, high = proportion_confint(rate * trials, trials, method="wilson")
        return float(high - low) / 2

    assert half(n) <= half_width / 100 and (n == 1 or half(n - 1) > half_width / 100)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, "exactly one of the two"),
        ({"quota": 5, "resolution": {"half_width_pp": 5}}, "exactly one of the two"),
        ({"quota": {"frist": 5}}, "did you mean first"),
        ({"quota": 5, "busiest": {"tools": 2, "times": 2}}, "busiest needs by: tool"),
    ],
)
def test_a_sample_definition_that_contradicts_itself_is_refused(given_: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        spec(**given_)
