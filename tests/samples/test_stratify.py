from hashlib import md5

from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.samples.stratify import draw, merge, sketch

IDS = st.lists(st.integers(0, 10_000), unique=True, max_size=200)


def keyed(ids: list[int]) -> list[tuple[str, str]]:
    return [(md5(f"7:{i}".encode()).hexdigest(), str(i)) for i in ids]


def drawn(ids: list[int], quota: int) -> list[str]:
    return [row.decision_id for row in draw({"first": sketch(keyed(ids), quota)}, {"first": quota})]


@given(IDS, st.integers(1, 50), st.integers(1, 50))
def test_a_larger_quota_keeps_the_earlier_rows(ids: list[int], quota: int, more: int) -> None:
    assert drawn(ids, quota + more)[: len(drawn(ids, quota))] == drawn(ids, quota)


@given(IDS, IDS, st.integers(1, 50))
def test_more_traffic_displaces_rows_only_by_rows_of_smaller_key(ids: list[int], new: list[int], quota: int) -> None:
    after = set(drawn(list({*ids, *new}), quota))
    kept = [i for i in drawn(ids, quota) if i in after]
    assert len(drawn(ids, quota)) - len(kept) <= len(after - set(map(str, ids)))


@given(IDS, st.integers(1, 50), st.data())
def test_two_parts_merge_to_the_sketch_of_the_whole(ids: list[int], size: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(ids)))
    parts = merge(sketch(keyed(ids[:cut]), size), sketch(keyed(ids[cut:]), size), size)
    assert parts == sketch(keyed(ids), size)


@given(IDS, st.integers(0, 50))
def test_the_weights_of_a_bucket_add_up_to_its_population(ids: list[int], quota: int) -> None:
    rows = draw({"first": sketch(keyed(ids), max(quota, 1))}, {"first": quota})
    if rows:
        assert abs(sum(row.weight for row in rows) - len(ids)) < 1e-9
    assert len(rows) == min(quota, len(ids))


def test_a_bucket_without_a_quota_is_not_drawn() -> None:
    assert draw({"late": sketch(keyed([1, 2]), 5)}, {"first": 3}) == []
