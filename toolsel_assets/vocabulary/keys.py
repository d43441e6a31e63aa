"""The keys of published tables: always under these names, on every table to which they apply, with these meanings."""

KEYS: dict[str, str] = {
    "study": "the study",
    "ladder": "the ladder",
    "rung": "the rung",
    "rung_order": "place of the rung in the ladder, from 0: the baseline",
    "label_set_version": "the label set version: <folder>@<first digits of its content hash>",
    "catalogue_hash": "hash of the tools' definitions",
    "model_served": "the models that answered in the rung, joined by |; empty when none is known",
    "run_date": "day of the rung's first choice, UTC",
    "slice": "existing, or new:<capability>; slices are never put together",
    "seed": "fixes the order in which the tools are shown; 0 for an agent that is not asked",
    "draw": "repeated answer in the same order, from 0",
    "request_id": "the labelled request",
    "row_class": "none, several or single; none wins over several, so that the classes partition the set",
    "expected": "(no tool) for class none, else the labellers' first choice",
    "chosen": "the tool called, or (no tool); of several, the first unacceptable one, else the first",
    "kind": "which of the seven kinds",
}
