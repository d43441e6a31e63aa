"""Agreement of labellers, beside nltk, krippendorff and statsmodels where these measure the same."""

from collections.abc import Mapping
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from toolsel_assets.labels.agreement import (
    NO_DISAGREEMENT,
    NO_STATES,
    NO_VARIATION,
    Agreement,
    agreement,
    jaccard,
    masi,
)
from toolsel_assets.labels.answers import Answer
from toolsel_assets.vocabulary.label import ValidAction

TOOLS = ("get_user", "refund_order", "send_mail", "search")
MEASURES = (
    "exact",
    "both_defensible",
    "alpha_masi",
    "alpha_jaccard",
    "kappa_no_tool",
    "kappa_forbidden",
    "exact_forbidden",
)
Answers = dict[str, dict[str, Answer]]


def answer(who: str, state: str, tools: set[str | None] | None, forbidden: set[str] = frozenset()) -> Answer:
    if tools is None:
        return Answer(id=state, labelled_by=(who,), skipped=True)
    valid = tuple(ValidAction(tool=tool) for tool in sorted(tools, key=str))
    return Answer(id=state, valid_actions=valid, forbidden_actions=tuple(sorted(forbidden)), labelled_by=(who,))


def answers(sets: Mapping[str, list[set[str | None] | None]], forbidden: Mapping[str, list[set[str]]] = {}) -> Answers:
    return {
        who: {
            f"s{i}": answer(who, f"s{i}", one, forbidden[who][i] if who in forbidden and one else set())
            for i, one in enumerate(of_one)
        }
        for who, of_one in sets.items()
    }


def figures(found: list[Agreement], labellers: str) -> dict[str, Agreement]:
    return {one.measure: one for one in found if one.labellers == labellers}


def random_answers(seed: int, n: int, labellers: str = "abc", skips: float = 0.2) -> Answers:
    """States on which labellers mostly follow a common answer; some are skipped, some have forbidden tools."""
    rng = Random(seed)
    members = [None, *TOOLS]
    common = [set(rng.sample(members, rng.choice([1, 1, 2, 3]))) for _ in range(n)]
    sets: dict[str, list[set[str | None] | None]] = {}
    forbidden: dict[str, list[set[str]]] = {}
    for who in labellers:
        given = [one if rng.random() < 0.6 else set(rng.sample(members, rng.choice([1, 2]))) for one in common]
        forbidden[who] = [set(TOOLS[:1]) - one if rng.random() < 0.3 else set() for one in given]
        sets[who] = [None if rng.random() < skips else one for one in given]
    return answers(sets, forbidden)


def test_masi_and_jaccard_are_those_of_passonneaus_paper():
    sets = [frozenset("ab"), frozenset("ab"), frozenset("a"), frozenset("bc"), frozenset("c"), frozenset()]
    assert masi(sets)[0].tolist() == pytest.approx([0, 0, 1 - 1 / 2 * 2 / 3, 1 - 1 / 3 * 1 / 3, 1, 1])
    assert jaccard(sets)[0].tolist() == pytest.approx([0, 0, 1 / 2, 2 / 3, 1, 1])
    assert masi(sets)[5, 5] == jaccard(sets)[5, 5] == 0, "two empty sets are the same set"


def test_no_tool_is_a_member_of_the_set_like_any_other():
    sets = [frozenset({None}), frozenset({None, "search"}), frozenset({"search"})]
    assert jaccard(sets)[0].tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["masi", "jaccard"])
def test_alpha_of_sets_is_that_of_nltk_with_skipped_states(seed, name):
    nltk_agreement = pytest.importorskip("nltk.metrics.agreement")
    nltk_distance = pytest.importorskip("nltk.metrics.distance")
    given = random_answers(seed, 60)
    found = agreement(given, resamples=2)
    for labellers in ("all", "a|b", "a|c", "b|c"):
        of = [who for who in given if labellers == "all" or who in labellers.split("|")]
        # nltk keeps states with a single answer among the expected disagreement, Krippendorff does not.
        shared = {s for s in given["a"] if sum(not given[who][s].skipped for who in of) >= 2}
        data = [(w, s, given[w][s].actions) for w in of for s in sorted(shared) if not given[w][s].skipped]
        task = nltk_agreement.AnnotationTask(data=data, distance=getattr(nltk_distance, f"{name}_distance"))
        assert figures(found, labellers)[f"alpha_{name}"].value == pytest.approx(task.alpha(), abs=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_alpha_of_all_labellers_on_no_tool_and_forbidden_is_krippendorffs_nominal_one(seed):
    krippendorff = pytest.importorskip("krippendorff")
    given = random_answers(seed, 80)
    found = figures(agreement(given, resamples=2), "all")
    for measure, says in (
        ("kappa_no_tool", lambda one: None in one.actions),
        ("kappa_forbidden", lambda one: bool(one.forbidden_actions)),
    ):
        table = np.array(
            [[np.nan if one.skipped else float(says(one)) for one in of.values()] for of in given.values()]
        )
        expected = krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
        assert found[measure].value == pytest.approx(expected, abs=1e-12)
        assert found[measure].note == "Krippendorff's alpha, nominal"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_kappas_of_two_labellers_are_cohens(seed):
    given = random_answers(seed, 80)
    pair = [(given["a"][s], given["b"][s]) for s in given["a"]]
    both = [(x, y) for x, y in pair if not x.skipped and not y.skipped]
    found = figures(agreement(given, resamples=2), "a|b")
    for measure, says in (
        ("kappa_no_tool", lambda one: int(None in one.actions)),
        ("kappa_forbidden", lambda one: int(bool(one.forbidden_actions))),
    ):
        table = np.zeros((2, 2))
        for x, y in both:
            table[says(x), says(y)] += 1
        assert found[measure].value == pytest.approx(cohens_kappa(table).kappa, abs=1e-12)
        assert found[measure].n_states == len(both)


def test_the_essays_240_states_with_38_differing_and_29_both_defensible_come_out():
    same, overlapping, apart = [{None}] * 100 + [{"search"}] * 102, [{None, "search"}] * 29, [{"send_mail"}] * 9
    found = figures(
        agreement(answers({"a": same + [{None}] * 29 + [{None}] * 9, "b": same + overlapping + apart})), "a|b"
    )
    exact, defensible = found["exact"], found["both_defensible"]
    assert (exact.n, exact.n_states, exact.value) == (202, 240, pytest.approx(202 / 240))
    assert (defensible.n, defensible.value) == (29, pytest.approx(29 / 38))
    assert defensible.note == "of 38 disagreements", "which leaves 9"
    assert exact.low < 202 / 240 < exact.high
    assert (exact.low, exact.high) == pytest.approx((0.796, 0.887), abs=0.012), "the binomial's own 2.5 % and 97.5 %"


def test_all_labellers_agree_only_where_each_of_them_does():
    found = agreement(
        answers(
            {
                "a": [{"search"}, {"search", "get_user"}, {"search"}, None, {None}],
                "b": [{"search"}, {"get_user", "send_mail"}, {"search", None}, {None}, None],
                "c": [{"search"}, {"send_mail", "search"}, {None}, {None}, None],
            }
        )
    )
    everyone = figures(found, "all")
    assert (everyone["exact"].n, everyone["exact"].n_states) == (2, 4), "the last state has one answer, the fourth two"
    # The second state's sets overlap two by two with nothing common to all; the third's first and last do not overlap.
    assert (everyone["both_defensible"].n, everyone["both_defensible"].value) == (1, 0.5)
    assert everyone["both_defensible"].note.startswith("of 2 disagreements")
    assert [(one.labellers, one.n, one.n_states) for one in found if one.measure == "exact"] == [
        ("all", 2, 4),
        ("a|b", 1, 3),
        ("a|c", 1, 3),
        ("b|c", 2, 4),
    ]


def test_forbidden_sets_are_compared_apart_from_acceptable_ones():
    sets = {"a": [{"search"}] * 4, "b": [{"search"}] * 4}
    forbidden = {
        "a": [{"send_mail"}, {"send_mail"}, set(), set()],
        "b": [{"refund_order"}, {"send_mail"}, set(), set()],
    }
    found = figures(agreement(answers(sets, forbidden)), "a|b")
    assert (found["exact_forbidden"].n, found["exact_forbidden"].value) == (3, 0.75)
    assert found["kappa_forbidden"].value == 1, "they agree where something is forbidden, if not what"
    assert found["exact"].value == 1


def test_where_nothing_varies_agreement_beyond_chance_is_undefined_and_not_one():
    found = figures(agreement(answers({"a": [{None}] * 20, "b": [{None}] * 20})), "a|b")
    for measure in ("alpha_masi", "alpha_jaccard", "kappa_no_tool", "kappa_forbidden"):
        assert (found[measure].value, found[measure].low, found[measure].note) == (None, None, NO_VARIATION)
    assert (found["both_defensible"].value, found["both_defensible"].note) == (None, NO_DISAGREEMENT)
    assert found["exact"].value == 1
    assert "understates" in found["exact"].note, "0 of 20 differing does not prove that none ever will"


def test_resamples_without_variation_are_left_out_and_told_of():
    # One state of twelve has another answer: a resample misses it with (11/12)^12 = 35 %.
    sets = [{None}] * 11 + [{"search"}]
    found = figures(agreement(answers({"a": sets, "b": sets})), "a|b")["alpha_masi"]
    assert (found.value, found.low, found.high) == (1, 1, 1)
    undefined = int(found.note.split("undefined in ")[1].split()[0])
    assert undefined == pytest.approx(352, abs=60)


@pytest.mark.parametrize("differing", [0, 1, 2])
def test_every_state_is_drawn_as_often_as_every_other(differing):
    sets = [{None} if i != differing else {"search"} for i in range(3)]
    found = figures(agreement(answers({"a": [{None}] * 3, "b": sets})), "a|b")["exact"]
    # (1/3)^3 of the resamples have the differing state thrice, (2/3)^3 never: 2.5 % and 97.5 % lie within these.
    assert (found.low, found.value, found.high) == (0, pytest.approx(2 / 3), 1)


def test_labellers_without_a_common_state_have_no_figures_and_one_labeller_has_no_row():
    found = agreement(answers({"a": [{None}, None], "b": [None, {None}]}))
    assert {(one.value, one.n_states, one.note) for one in found} == {(None, 0, NO_STATES)}
    assert [one.measure for one in found] == [*MEASURES, *MEASURES]
    assert agreement(answers({"a": [{None}]})) == agreement({}) == []


def test_a_skip_is_no_disagreement():
    with_skip = agreement(answers({"a": [{None}, {"search"}, {None}], "b": [{None}, {"search"}, None]}))
    without = agreement(answers({"a": [{None}, {"search"}], "b": [{None}, {"search"}]}))
    assert with_skip == without


def test_the_interval_is_about_as_wide_as_the_figure_varies_from_one_set_of_states_to_another():
    sets = [figures(agreement(random_answers(seed, 150, "ab", 0.0), resamples=200), "a|b") for seed in range(50)]
    for measure in ("exact", "alpha_masi", "kappa_no_tool"):
        sd = np.std([one[measure].value for one in sets])
        half = np.mean([(one[measure].high - one[measure].low) / 2 for one in sets])
        assert 0.75 < half / (1.96 * sd) < 1.33, measure


SETS = st.frozensets(st.sampled_from([None, *TOOLS[:3]]), min_size=1, max_size=3)
STATES = st.lists(st.tuples(*[st.none() | SETS] * 3), min_size=1, max_size=12)


def as_answers(states: list[tuple[frozenset[str | None] | None, ...]], names: str = "abc") -> Answers:
    return answers({who: [one[i] for one in states] for i, who in enumerate(names)})


@settings(max_examples=60, deadline=None)
@given(STATES)
def test_figures_depend_neither_on_the_order_of_labellers_nor_on_who_is_called_what(states):
    given = as_answers(states)
    assert agreement(given, resamples=20) == agreement(dict(reversed(given.items())), resamples=20)
    swapped = figures(agreement(as_answers(states, "bac"), resamples=20), "a|b")
    for measure, one in figures(agreement(given, resamples=20), "a|b").items():
        other = swapped[measure]
        assert (one.n, one.n_states, one.note) == (other.n, other.n_states, other.note)
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(STATES, st.randoms(use_true_random=False))
def test_figures_do_not_depend_on_the_order_of_states(states, rng):
    given = as_answers(states)
    shuffled = {who: dict(rng.sample(list(of_one.items()), len(of_one))) for who, of_one in given.items()}
    assert agreement(given, resamples=20) == agreement(shuffled, resamples=20)
    # Under other names the draws are other ones, the figures are not.
    other = agreement(as_answers(rng.sample(states, len(states))), resamples=20)
    for one, two in zip(agreement(given, resamples=20), other, strict=True):
        assert (one.n, one.n_states) == (two.n, two.n_states)
        assert one.value == (None if two.value is None else pytest.approx(two.value))


@settings(max_examples=60, deadline=None)
@given(st.lists(SETS, min_size=2, max_size=12))
def test_alpha_is_one_when_all_agree_on_more_than_one_answer(sets):
    found = figures(agreement(as_answers([(one, one, one) for one in sets]), resamples=20), "all")
    varies = len(set(sets)) > 1
    assert found["alpha_masi"].value == found["alpha_jaccard"].value == (1 if varies else None)


@settings(max_examples=60, deadline=None)
@given(STATES)
def test_a_pairs_figures_do_not_depend_on_who_else_labelled(states):
    given = as_answers(states)
    alone = {who: given[who] for who in "ab"}
    assert figures(agreement(given, resamples=20), "a|b") == figures(agreement(alone, resamples=20), "a|b")
