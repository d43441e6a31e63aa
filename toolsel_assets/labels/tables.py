"""The tables of stage 3."""

from toolsel_assets.store import Table, columns

LABEL_SETS = Table(
    "labels",
    "label_sets",
    """One row per label set version that a ladder uses. A version is its content: an edited file is another.""",
    columns(
        "study",
        "label_set_version",
        content_hash="VARCHAR sha256 of what the rows say",
        n_rows="INTEGER labelled requests",
        n_none="INTEGER of these, class none: no tool is acceptable",
        n_several="INTEGER class several: more than one tool is acceptable, and no tool is not",
        n_single="INTEGER class single: exactly one tool is acceptable",
        n_sampled="INTEGER rows whose state was sampled from traces",
        n_labellers="INTEGER distinct labellers",
        newest_decided_at="TIMESTAMP the newest sampled decision, UTC",
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
    ),
)
