"""Parquet that toolsel's own ingest wrote: what one machine has read, another one need not read again.

The files lie below traces/read/ of a study's data; each holds the calls, the links and the messages of one trace file.
They are recognised by what they are, Parquet with these columns. A unit is a call or a span.
"""

from typing import Any

from toolsel_assets.traces.tables import MODEL_CALLS

_OWN = {"file_id": "getvariable('file_id')", "source": "getvariable('source')"}
_CONTEXT = "getvariable('file_id') || ':' || substr({0}, strpos({0}, ':') + 1)"

#: A context's id, and the one that it extends, begin with the id of the file.
_MOVED = {
    "context_id": _CONTEXT.format("context_id"),
    "messages": f"""case when kind = 'extends' then json_object(
        'context_id', {_CONTEXT.format("(messages ->> 'context_id')")}, 'n', (messages -> 'n'))::varchar
        else messages end""",
}

QUERY = "select {} from read_parquet(getvariable('path')) order by ordinal".format(
    ", ".join(f'{({**_OWN, **_MOVED}).get(c.name, c.name)}::{c.type} as "{c.name}"' for c in MODEL_CALLS.columns)
)


def recognises(record: Any) -> bool:
    """No JSON record is of this format."""
    return False


def units(record: Any) -> int:
    """One, as for everything unknown."""
    return 1
