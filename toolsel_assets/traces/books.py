"""The books of one trace file: what it held, counted twice.

What belongs here: the count of units before reading, and what became of them. What does not: reading (reading.py).
"""

from dataclasses import dataclass, field

from toolsel_assets.traces.model_call import MergeReason, Reason


@dataclass
class Books:
    """What a file held. `n_records` is counted without reading the records; merged and rejected are what was read."""

    content_hash: str
    n_bytes: int
    format: str = "unknown"
    n_records: int = 0
    n_calls: int = 0
    n_links: int = 0
    merged: dict[MergeReason, int] = field(default_factory=dict)
    rejects: list[tuple[int, Reason, str]] = field(default_factory=list)
    redacted: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def file_id(self) -> str:
        """The content's short name."""
        return self.content_hash[:12]  # DuckDB keeps twelve characters within the row

    def merge(self, reason: MergeReason, n: int = 1) -> None:
        """Note units that are no decisions of their own."""
        self.merged[reason] = self.merged.get(reason, 0) + n

    @property
    def n_missing(self) -> int:
        """Units that were counted and became nothing; none, unless a reader has a defect."""
        return self.n_records - self.n_calls - self.n_links - sum(self.merged.values()) - len(self.rejects)

    def reject(self, position: int, reason: Reason, detail: str) -> None:
        """Note a unit that could not be read."""
        self.rejects.append((position, reason, detail[:500]))
