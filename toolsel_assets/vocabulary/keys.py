"""The keys of published tables: always under these names, types and meanings, in the form of `store.columns`."""

KEYS: dict[str, str] = {
    "study": "VARCHAR the study",
    "ladder": "VARCHAR the ladder",
    "rung": "VARCHAR the rung",
    "rung_order": "INTEGER place of the rung in the ladder, from 0: the baseline",
    "label_set_version": "VARCHAR the label set version: <folder>@<first digits of its content hash>",
    "catalogue_hash": "VARCHAR hash of the tools' definitions",
    "model_served": "VARCHAR the models that answered in the rung, joined by |; empty when none is known",
    "run_date": "DATE day of the rung's first choice, UTC",
    "slice": "VARCHAR existing, or new:<capability>; slices are never put together",
    "seed": "INTEGER fixes the order in which the tools are shown; 0 for an agent that is not asked",
    "draw": "INTEGER repeated answer in the same order, from 0",
    "request_id": "VARCHAR the labelled request",
    "row_class": "VARCHAR none, several or single; none wins over several, so that the classes partition the set",
    "expected": "VARCHAR (no tool) for class none, else the labellers' first choice",
    "chosen": "VARCHAR the tool called, or (no tool); of several, the first unacceptable one, else the first",
    "kind": "VARCHAR which of the seven kinds",
}
