from hypothesis import given
from hypothesis import strategies as st

from toolsel_assets.vocabulary.tool import Catalogue, Tool, order_for_seed, order_hash, rotated

NAMES = st.lists(st.text("abcdefgh_", min_size=1, max_size=8), unique=True, min_size=1, max_size=12)


def tools(names: list[str]) -> list[Tool]:
    return [Tool(name, "") for name in names]


@given(NAMES, NAMES, st.integers())
def test_adding_tools_keeps_the_relative_order_of_the_others(old: list[str], added: list[str], seed: int) -> None:
    before = [tool.name for tool in order_for_seed(tools(old), seed)]
    after = [tool.name for tool in order_for_seed(tools(list({*old, *added})), seed)]
    assert [name for name in after if name in old] == before


@given(NAMES, st.integers(), st.randoms())
def test_the_order_of_the_file_changes_nothing(names: list[str], seed: int, random: object) -> None:
    shuffled = sorted(names, reverse=True)
    assert order_for_seed(tools(names), seed) == order_for_seed(tools(shuffled), seed)
    assert Catalogue("a", tuple(tools(names))).hash == Catalogue("b", tuple(tools(shuffled))).hash


@given(NAMES, st.lists(st.integers(), unique=True, min_size=1, max_size=6))
def test_rotating_shows_every_tool_in_every_part_of_the_list(names: list[str], seeds: list[int]) -> None:
    orders = [[tool.name for tool in rotated(tools(names), seeds, seed)] for seed in seeds]
    assert all(sorted(order) == sorted(names) for order in orders)
    if len(names) % len(seeds) == 0:  # a Latin square: each tool once in each of as many parts as there are seeds
        part = len(names) // len(seeds)
        for name in names:
            assert sorted(order.index(name) // part for order in orders) == list(range(len(seeds)))


@given(NAMES, NAMES, st.lists(st.integers(), unique=True, min_size=1, max_size=4))
def test_rotating_keeps_the_cyclic_order_of_the_others_when_tools_are_added(
    old: list[str], added: list[str], seeds: list[int]
) -> None:
    for seed in seeds:
        before = [tool.name for tool in rotated(tools(old), seeds, seed)]
        after = [t.name for t in rotated(tools(list({*old, *added})), seeds, seed) if t.name in old]
        start = after.index(before[0])
        assert after[start:] + after[:start] == before


def test_three_seeds_give_three_orders_of_fourteen_tools() -> None:
    catalogue = Catalogue("c", tuple(tools([f"tool_{i}" for i in range(14)])))
    assert len({order_hash(catalogue.shown_in_order(seed)) for seed in (11, 12, 13)}) == 3


def test_a_changed_description_is_another_catalogue() -> None:
    assert Catalogue("c", (Tool("a", "x"),)).hash != Catalogue("c", (Tool("a", "y"),)).hash
