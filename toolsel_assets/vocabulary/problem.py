"""The one exception for a user's mistake: where it is, what was found, what is accepted.

Anything that a person wrote (study, ladder, criteria, labels, catalogues) and got wrong ends in `BadInput`, which the
command line prints without a traceback. A defect of our own is never a `BadInput`.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class BadInput(Exception):
    """A file or an option that cannot be used as it stands."""

    def __init__(self, where: str, found: str, accepted: str = "") -> None:
        """State the place (file, line or key), what stands there, and what would be accepted."""
        self.where, self.found, self.accepted = where, found, accepted
        super().__init__(f"{where}: {found}" + (f" ({accepted})" if accepted else ""))


def known_names(name: str, known: Iterable[str]) -> str:
    """Name what would be accepted in place of an unknown name, the nearest spelling first."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    return (f"did you mean {near[0]}? " if near else "") + "known: " + (", ".join(names) or "none")
