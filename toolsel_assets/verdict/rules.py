"""The rules: one function per criterion of the same name, from evidence to findings in three values.

What belongs here: what a threshold means, and the sentence that a reviewer reads. What does not: arithmetic
(statistics.py), counting (evidence.py). A rule rejects when the data show the threshold is broken, accepts when
they show that it is kept, and says `not_enough_data` otherwise, with what is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolsel_assets.verdict.evidence import Evidence, Request
from toolsel_assets.verdict.statistics import (
    Interval,
    clopper_pearson,
    effective_n,
    holm,
    requests_to_affirm,
    sign_flip,
    tango,
    weighted_sum,
    wilson,
)
from toolsel_assets.vocabulary.criteria import RULES, Criteria
from toolsel_assets.vocabulary.figure import counted, half_up, percent, points

State = Literal["accept", "reject", "not_enough_data", "not_applicable"]

#: The share of logged decisions that labelled requests must cover before a volume-weighted figure speaks for them.
LEAST_COVERAGE = 0.8


@dataclass(frozen=True)
class Finding:
    """What one rule says of one subject. Proportions 0..1; `threshold` is in the criterion's own unit."""

    rule: str
    subject: str
    state: State
    sentence: str
    threshold: float
    observed: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    n_requests: int = 0
    request_ids: tuple[str, ...] = ()


def apply_rules(evidence: Evidence, criteria: Criteria) -> list[Finding]:
    """Apply every rule that the criteria set."""
    found: list[Finding] = []
    for name in RULES:
        threshold = getattr(criteria, name)
        if threshold is not None:
            rule: Callable[[Evidence, Criteria, float], list[Finding]] = globals()[name]
            found += rule(evidence, criteria, threshold)
    return found


def _not_applicable(rule: str, threshold: float, why: str) -> list[Finding]:
    return [Finding(rule, "-", "not_applicable", why, threshold)]


_NO_BASELINE = "there is no earlier rung to compare these requests with"


def max_tool_drop_pp(evidence: Evidence, criteria: Criteria, threshold: float) -> list[Finding]:
    """No tool with meaningful volume may lose more than this many points against the first rung.

    REJECT: the drop is larger and its exact test, Holm-adjusted over the tools, significant. ACCEPT: the one-sided
    upper Tango bound is smaller. The raw rule alone raises a false alarm on 27 to 77 % of unchanged 30-tool
    ladders.
    """
    rule, by_tool = "max_tool_drop_pp", evidence.paired_by_tool()
    if not evidence.compares:
        return _not_applicable(rule, threshold, _NO_BASELINE)
    counted = {tool for tool, volume in evidence.volumes.items() if volume >= criteria.meaningful_volume}
    tools = sorted(counted & by_tool.keys())
    p_values = [sign_flip([request.difference for request in by_tool[tool]]) for tool in tools]
    found = [
        _tool_drop(evidence, criteria, threshold, tool, by_tool[tool], p, adjusted)
        for tool, p, adjusted in zip(tools, p_values, holm(p_values), strict=True)
    ]
    for tool in sorted(counted - by_tool.keys()):
        missing = requests_to_affirm(0.0, threshold / 100, criteria.confidence)
        share = half_up(100 * evidence.volumes[tool])
        sentence = (
            f"{tool} takes {share} % of logged decisions and no labelled request expects it: {missing} are missing"
        )
        found.append(Finding(rule, tool, "not_enough_data", sentence, threshold))
    return found


def _tool_drop(
    evidence: Evidence,
    criteria: Criteria,
    threshold: float,
    tool: str,
    requests: Sequence[Request],
    p: float,
    adjusted: float,
) -> Finding:
    change = paired_change(requests, criteria.confidence)
    margin, n = threshold / 100, len(requests)
    right, before = sum(r.right for r in requests), sum(r.right_before for r in requests)
    trials = sum(r.trials for r in requests)
    counts = f"{tool}: {before} of {trials} before, {right} of {trials} now ({points(-change.estimate)} points)"
    state: State = "not_enough_data"
    if change.estimate > margin and adjusted <= 1 - criteria.confidence:
        state, why = "reject", f"more than {threshold:g} points down, p = {adjusted:.2g} after Holm"
    elif change.high < margin:
        state, why = "accept", f"at most {half_up(100 * change.high)} points down"
    else:
        churn = sum(r.loss_share + r.gain_share for r in requests) / n
        more = max(1, requests_to_affirm(round(churn, 4), margin, criteria.confidence) - n)
        could = f"{counted(more, 'more request')} could show less than {threshold:g}"
        why = f"it may be {half_up(100 * change.high)} points down; {could}"
        if change.estimate > margin:
            why = f"a suspect, but p = {adjusted:.2g} after Holm; {why}"
    if evidence.seed_range_pp and 0 < abs(100 * change.estimate) < evidence.seed_range_pp:
        why += f"; within noise: the order of the tools alone moves {half_up(evidence.seed_range_pp)} points"
    ids = tuple(r.request_id for r in requests if r.difference)
    shown = tango_two_sided(requests, criteria.confidence)
    bounds = {"observed": change.estimate, "low": shown.low, "high": shown.high}
    sentence = f"{counts}: {why}"
    return Finding("max_tool_drop_pp", tool, state, sentence, threshold, **bounds, p=p, p_adjusted=adjusted,
                   n_requests=n, request_ids=ids)  # fmt: skip


def paired_change(requests: Sequence[Request], confidence: float) -> Interval:
    """Drop against the first rung with one-sided Tango bounds, at the level of requests."""
    losses, gains = sum(r.loss_share for r in requests), sum(r.gain_share for r in requests)
    return tango(losses, gains, len(requests), confidence, two_sided=False)


def tango_two_sided(requests: Sequence[Request], confidence: float) -> Interval:
    """Drop against the first rung with two-sided Tango bounds, as it is published."""
    losses, gains = sum(r.loss_share for r in requests), sum(r.gain_share for r in requests)
    return tango(losses, gains, len(requests), confidence)


def max_pair_share(evidence: Evidence, criteria: Criteria, threshold: float) -> list[Finding]:
    """No ordered pair may hold more than this share of the failures, new or all.

    The largest pair is tested with exact bounds on the requests behind the failures; a rejection divides its error
    by the number of pairs, since the largest was picked.
    """
    rule, new = "max_pair_share", criteria.pair_share_of == "new_failures"
    if new and not evidence.compares:
        return _not_applicable(rule, threshold, _NO_BASELINE)
    counts: dict[tuple[str, str], int] = {}
    behind: dict[tuple[str, str], list[str]] = {}
    for request in evidence.requests:
        for chosen, n in (request.new_pairs if new else request.pairs).items():
            pair = (request.expected, chosen)
            counts[pair] = counts.get(pair, 0) + n
            behind.setdefault(pair, []).append(request.request_id)
    what = "new failures" if new else "failures"
    if not counts:
        n = len(evidence.requests)
        return [
            Finding(rule, "-", "accept", f"there are no {what} on {counted(n, 'request')}", threshold, n_requests=n)
        ]
    total = sum(counts.values())
    pair = min(counts, key=lambda p: (-counts[p], p))
    share, n = counts[pair] / total, len({i for ids in behind.values() for i in ids})
    alpha = 1 - criteria.confidence
    low = clopper_pearson(share * n, n, 1 - alpha / len(counts)).low
    high = clopper_pearson(share * n, n, criteria.confidence).high
    name = f"{pair[0]} -> {pair[1]}"
    text = f"{name} holds {counts[pair]} of {total} {what} ({percent(counts[pair], total)}) on {counted(n, 'request')}"
    state: State = "reject" if low > threshold else "accept" if high < threshold else "not_enough_data"
    limit = f"{half_up(100 * threshold)} %"
    why = {
        "reject": f"more than {limit}, even at the lower bound of {half_up(100 * low)} %",
        "accept": f"less than {limit}, even at the upper bound of {half_up(100 * high)} %",
        "not_enough_data": f"the share may be {half_up(100 * low)} to {half_up(100 * high)} %; {limit} lies between",
    }[state]
    return [Finding(rule, name, state, f"{text}: {why}", threshold, share, low, high,
                    n_requests=len(behind[pair]), request_ids=tuple(behind[pair]))]  # fmt: skip


def min_weighted_change_pp(evidence: Evidence, criteria: Criteria, threshold: float) -> list[Finding]:
    """The change against the first rung, tools weighted by their share of logged decisions, may not be lower.

    "A tool that serves 30 % of traffic and a tool that serves 0.2 % contribute equally to an unweighted mean and
    unequally to everything a user experiences" (seeds/per_tool_and_pair).
    """
    rule, by_tool = "min_weighted_change_pp", evidence.paired_by_tool()
    if not evidence.compares:
        return _not_applicable(rule, threshold, _NO_BASELINE)
    tools = sorted(by_tool.keys() & evidence.volumes.keys())
    covered = sum(evidence.volumes[tool] for tool in tools)
    if not tools or covered < LEAST_COVERAGE:
        sentence = f"labelled requests cover tools with {half_up(100 * covered)} % of logged decisions; 80 % are needed"
        return [Finding(rule, "all tools", "not_enough_data", sentence, threshold)]
    parts = [paired_change(by_tool[tool], criteria.confidence) for tool in tools]
    weights = [evidence.volumes[tool] / covered for tool in tools]
    drop = weighted_sum(weights, parts, evidence.n_volumes, criteria.confidence)
    low, high = -drop.high, -drop.low
    worst = max(range(len(tools)), key=lambda i: weights[i] * parts[i].estimate)
    state: State = "reject" if 100 * high < threshold else "accept" if 100 * low >= threshold else "not_enough_data"
    text = (
        f"weighted by volume the change is {points(-drop.estimate)} points, between {points(low)} and {points(high)}, "
        f"over tools with {half_up(100 * covered)} % of logged decisions; {threshold:g} is the limit"
    )
    if parts[worst].estimate > 0:
        text += f"; {points(-weights[worst] * parts[worst].estimate)} of it come from {tools[worst]}"
    n = sum(len(by_tool[tool]) for tool in tools)
    ids = tuple(r.request_id for tool in tools for r in by_tool[tool] if r.difference)
    return [
        Finding(rule, "all tools", state, text, threshold, -drop.estimate, low, high, n_requests=n, request_ids=ids)
    ]


def min_no_tool_rate(evidence: Evidence, criteria: Criteria, threshold: float) -> list[Finding]:
    """The rate on the states where calling nothing is acceptable: the class that a metric over calls cannot see."""
    rule = "min_no_tool_rate"
    rows = [request for request in evidence.requests if request.row_class == "none"]
    if not rows:
        return [
            Finding(rule, "class none", "not_enough_data", "no labelled request accepts calling nothing", threshold)
        ]
    right, trials, n = sum(r.right for r in rows), sum(r.trials for r in rows), len(rows)
    found = wilson(right / trials, effective_n(n, trials / n, evidence.rho), criteria.confidence, two_sided=False)
    state: State = "not_enough_data"
    state = "reject" if found.high < threshold else "accept" if found.low >= threshold else state
    text = (
        f"{right} of {trials} right where calling nothing is acceptable ({percent(right, trials)}, between "
        f"{half_up(100 * found.low)} and {half_up(100 * found.high)} %); at least {half_up(100 * threshold)} % is asked"
    )
    ids = tuple(r.request_id for r in rows if r.right < r.trials)
    return [Finding(rule, "class none", state, text, threshold, found.estimate, found.low, found.high,
                    n_requests=n, request_ids=ids)]  # fmt: skip


def max_forbidden(evidence: Evidence, criteria: Criteria, threshold: float) -> list[Finding]:
    """The number of requests on which a forbidden tool is called: a count on this set, with nothing to estimate."""
    rule, n = "max_forbidden", len(evidence.requests)
    ids = tuple(request.request_id for request in evidence.requests if request.forbidden)
    state: State = "reject" if len(ids) > threshold else "accept"
    sentence = f"a forbidden tool was called on {len(ids)} of {counted(n, 'request')}; {threshold:g} are allowed"
    return [Finding(rule, "all tools", state, sentence, threshold, float(len(ids)), n_requests=n, request_ids=ids)]


def overall(findings: Sequence[Finding]) -> tuple[State, str]:
    """Reduce findings to a verdict: any reject rejects, then any lack of data; nothing measured is no acceptance."""
    for state in ("reject", "not_enough_data", "accept"):
        found = [finding for finding in findings if finding.state == state]
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            return state, f"{found[0].rule}: {found[0].sentence}{more}"
    return "not_enough_data", "no rule could be applied: nothing was measured"
