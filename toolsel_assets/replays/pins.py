"""Which model identifiers name one version for ever: a ladder whose model moves measures the move.

Anthropic's identifiers from 4.6 on have no date and name one version each; before that, an identifier without a date is
an alias that moves. Other providers' identifiers are taken at the user's word, `pinned: true`.
"""

import re

from toolsel_assets.vocabulary.problem import BadInput

_DATED = re.compile(r"[-@]20\d{6}\b")
#: claude-<name>-<major>[-<minor>], as from 4.6 on.
_VERSIONED = re.compile(r"claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?")
_FIRST_WITHOUT_DATES = (4, 6)


def check_pinned(model: str | None, *, said_so: bool, where: str) -> None:
    """Refuse a model whose identifier may name another model tomorrow."""
    if not model:
        raise BadInput(where, "no model", "the pinned identifier of the model that is asked")
    if model.endswith("latest"):
        raise BadInput(where, f"model {model!r} moves with every release", "the identifier of one version")
    if said_so or _DATED.search(model):
        return
    found = _VERSIONED.fullmatch(model)
    if found and (int(found[1]), int(found[2] or 0)) >= _FIRST_WITHOUT_DATES:
        return
    if model.startswith("claude"):
        raise BadInput(
            where,
            f"model {model!r} is an alias, which may name another version tomorrow",
            "an identifier with a date, such as claude-sonnet-4-5-20250929, or one of 4.6 and later",
        )
    raise BadInput(
        where,
        f"whether {model!r} names one version for ever cannot be told from the name",
        "agent.pinned: true in the ladder, if it does",
    )
