"""The tables of stage 3."""

from toolsel_assets.store import Table, columns

LABEL_SETS = Table(
    "labels",
    "label_sets",
    """One row per label set version of the study. A version is its content: an edited file is another.""",
    columns(
        "study",
        "label_set_version",
        name="VARCHAR the version's folder in labels/",
        content_hash="VARCHAR sha256 of rows, sample definition and adjudications",
        parent_version="VARCHAR the version that it goes on from; empty for a first one",
        is_released="BOOLEAN whether it is released, and so never changes",
        released_on="DATE when it was released",
        is_used="BOOLEAN whether a ladder of this run uses it",
        n_rows="INTEGER labelled requests",
        n_none="INTEGER of these, class none: no tool is acceptable",
        n_several="INTEGER class several: more than one tool is acceptable, and no tool is not",
        n_single="INTEGER class single: exactly one tool is acceptable",
        n_sampled="INTEGER rows whose state is a decision of the traces",
        n_labellers="INTEGER distinct labellers",
        labelled_by="VARCHAR the labellers, joined by |",
        n_adjudicated="INTEGER rows on which somebody decided in this version",
        n_relabelled="INTEGER of these, rows whose right answer a new capability changed",
        window_from="TIMESTAMP oldest decision of the traffic that the sample was drawn from, UTC",
        window_until="TIMESTAMP newest decision of that traffic, UTC",
        sample="VARCHAR how the sample was drawn, as JSON; empty where it is not known",
        newest_decided_at="TIMESTAMP the newest labelled decision, UTC",
    ),
)

LABEL_ROWS = Table(
    "labels",
    "label_rows",
    """One row per labelled request of a label set version: the set of acceptable actions and the forbidden tools.
The classes partition the set, but their shares are the sampling quota's, not production's.""",
    columns(
        "study",
        "label_set_version",
        "request_id",
        "slice",
        row_class="VARCHAR none, several or single; none wins over several, so that the classes partition the set",
        expected="VARCHAR (no tool) for class none, else the labellers' first choice",
        valid_tools="VARCHAR every acceptable action, sorted, joined by |, (no tool) included",
        forbidden_tools="VARCHAR the forbidden tools, sorted, joined by |",
        reply="VARCHAR for class none: which kind of message, several joined by |",
        labelled_by="VARCHAR the labellers, joined by |",
        from_traces="BOOLEAN whether the state is a decision of the traces",
        label="VARCHAR the whole row as JSON, as the labels' file has it",
    ),
)

LABEL_ACTIONS = Table(
    "labels",
    "label_actions",
    """One row per acceptable or forbidden action of a labelled request: the long form of the sets in label_rows.""",
    columns(
        "study",
        "label_set_version",
        "request_id",
        position="INTEGER order of preference, from 0; forbidden tools follow the acceptable ones",
        action="VARCHAR the tool, or (no tool)",
        is_forbidden="BOOLEAN forbidden rather than acceptable",
        args="VARCHAR the arguments as JSON; empty when any are acceptable",
        reply="VARCHAR on (no tool): which kind of message",
        reason="VARCHAR the labellers' reason",
    ),
)

REQUESTS = Table(
    "labels",
    "requests",
    """One row per labelled request: the messages that are replayed. Private: it holds conversations.""",
    columns(
        "label_set_version",
        "request_id",
        messages="VARCHAR a JSON list of messages in OpenAI chat form",
        tools="VARCHAR a JSON list of the tools that the request brings with it, in MCP form; empty for none",
    ),
)

LABELLER_ANSWERS = Table(
    "labels",
    "labeller_answers",
    """One row per labelled request and labeller: who said what, before anything was adjudicated.
Skips are here, too.""",
    columns(
        "study",
        "label_set_version",
        "request_id",
        labeller="VARCHAR who answered",
        is_skipped="BOOLEAN whether there is no answer: an abstention, not an empty set",
        is_unsure="BOOLEAN whether the labeller had doubts",
        valid_tools="VARCHAR every acceptable action, sorted, joined by |, (no tool) included; empty for a skip",
        forbidden_tools="VARCHAR the forbidden tools, sorted, joined by |",
        reply="VARCHAR for no tool: which kind of message, several joined by |",
        labelled_at="TIMESTAMP when, UTC",
        seconds="DOUBLE how long the state was on the screen, s",
        note="VARCHAR the labeller's remark",
        answer="VARCHAR the whole answer as JSON",
    ),
)

ADJUDICATIONS = Table(
    "labels",
    "adjudications",
    """One row per decision on a labelled request: dated, signed, reasoned and kept.
The last one on a request holds.""",
    columns(
        "study",
        "label_set_version",
        "request_id",
        position="INTEGER order in the file, from 0",
        holds="BOOLEAN whether no later decision takes its place",
        resolution="VARCHAR the labeller whose answer stands, or union, other, relabel, leave_out",
        valid_tools="VARCHAR what stands, sorted, joined by |; empty where a labeller's answer stands",
        forbidden_tools="VARCHAR the forbidden tools that stand, sorted, joined by |",
        differs_in="VARCHAR in what the answers differed: valid, args, flags, reply, forbidden",
        both_defensible="BOOLEAN whether the adjudicator found every answer defensible",
        capability="VARCHAR for a relabel: the new capability",
        reason="VARCHAR why",
        decided_by="VARCHAR who decided",
        decided_on="DATE when",
    ),
)

DISAGREEMENTS = Table(
    "labels",
    "disagreements",
    """One row per labelled request and pair of labellers whose answers differ in anything that a score can see.""",
    columns(
        "study",
        "label_set_version",
        "request_id",
        labeller_a="VARCHAR one labeller",
        labeller_b="VARCHAR the other",
        differs_in="VARCHAR valid, args, flags, reply, forbidden, joined by +",
        valid_a="VARCHAR acceptable actions of the one, sorted, joined by |",
        valid_b="VARCHAR of the other",
        forbidden_a="VARCHAR forbidden tools of the one, sorted, joined by |",
        forbidden_b="VARCHAR of the other",
        both_defensible="BOOLEAN whether the sets of acceptable actions overlap",
        resolution="VARCHAR what was decided; empty while nobody has",
        decided_by="VARCHAR who decided",
        reason="VARCHAR why",
    ),
)

AGREEMENT = Table(
    "labels",
    "agreement",
    """One row per label set version, pair of labellers (or all) and measure of agreement, with a bootstrap
interval over states. The measures differ by design: name the measure with the figure.""",
    columns(
        "study",
        "label_set_version",
        labellers="VARCHAR two labellers joined by |, or all",
        measure="VARCHAR exact and both_defensible (shares), alpha_masi, alpha_jaccard, kappa_no_tool, kappa_forbidden",
        value="DOUBLE the figure; NULL where it is undefined",
        low="DOUBLE lower end of the 95 % interval",
        high="DOUBLE upper end",
        n_states="INTEGER states with at least two answers",
        n="INTEGER for a share: its numerator",
        note="VARCHAR what there is to say, such as: undefined, no variation",
    ),
)

DRIFT = Table(
    "labels",
    "drift",
    """One row per label set version that a ladder uses and column of the traffic: how far the latest window of traffic
is from the one that the set was drawn from.
Whole runs are permuted, since decisions of one run resemble each other.""",
    columns(
        "study",
        "label_set_version",
        traffic="VARCHAR what is compared: tool, position, no_tool, message_length",
        psi="DOUBLE population stability index; NULL where it is undefined",
        p_value="DOUBLE permutation p-value of the index",
        n_runs_before="INTEGER runs of the window that the set was drawn from, at most 2,000",
        n_runs_latest="INTEGER runs of the latest window, at most 2,000",
        n_before="INTEGER their decisions",
        n_latest="INTEGER their decisions",
        largest="VARCHAR the value whose share moved most",
        share_before="DOUBLE its share before",
        share_latest="DOUBLE its share in the latest window",
        latest_from="TIMESTAMP begin of the latest window, UTC",
        latest_until="TIMESTAMP newest decision of the traces, UTC",
        note="VARCHAR why the index is undefined",
    ),
)
