"""The labelling page: one HTML file that a labeller opens in a browser, without a server and without a network.

What belongs here: what goes into the file, and that nothing in it can run. What does not: how it looks and behaves
(page.html.j2, page.css, page.js), what becomes of the exported answers (answer_files.py).

The page never holds what the agent did: it is given the messages that the agent saw, and nothing after them. Text from
traces is data: it stands in a JSON block, is shown as text only, and a content security policy names the one script and
the one style by their hashes, so that nothing else runs or is fetched.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any, get_args

import jinja2
from markupsafe import Markup

from toolsel_assets.vocabulary.label import Reply
from toolsel_assets.vocabulary.problem import BadInput, known_names
from toolsel_assets.vocabulary.tool import Tool


@dataclass(frozen=True)
class PageState:
    """A state to be labelled: its messages in OpenAI chat form, and the key of its catalogue."""

    id: str
    messages: Sequence[Mapping[str, Any]]
    catalogue: str
    slice: str = "existing"


def page(
    states: Sequence[PageState],
    catalogues: Mapping[str, Sequence[Tool]],
    *,
    title: str,
    version: str,
    labeller: str | None = None,
    guide: str = "",
) -> str:
    """Give the page. A state with a catalogue that is not given raises `BadInput`."""
    for state in states:
        if state.catalogue not in catalogues:
            raise BadInput(f"state {state.id}", f"no catalogue {state.catalogue!r}", known_names("", catalogues))
    ids = sha256("\n".join(sorted(state.id for state in states)).encode()).hexdigest()[:16]
    data = {
        "version": version,
        "states_hash": ids,
        "labeller": labeller or "",
        "replies": sorted(get_args(Reply)),
        "states": [
            {"id": one.id, "slice": one.slice, "catalogue": one.catalogue, "messages": list(one.messages)}
            for one in states
        ],
        "catalogues": {
            name: [
                {"name": t.name, "description": t.description, "effect": t.effect, "schema": t.input_schema}
                for t in tools
            ]
            for name, tools in catalogues.items()
        },
    }
    folder = files("toolsel_assets.labels")
    script, style = ((folder / name).read_text(encoding="utf-8") for name in ("page.js", "page.css"))
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        (folder / "page.html.j2").read_text(encoding="utf-8")
    )
    return template.render(
        title=title,
        n_states=len(states),
        guide=guide,
        data=Markup(embedded(data)),
        script=Markup(script),
        style=Markup(style),
        script_hash=_source_hash(script),
        style_hash=_source_hash(style),
    )


def embedded(data: object) -> str:
    """Write JSON so that it can stand in a script block: nothing in it ends the block or begins markup."""
    text = json.dumps(data, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _source_hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
