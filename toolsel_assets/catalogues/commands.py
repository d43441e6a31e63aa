"""`toolsel catalogue`: fetching live sources, and the versions that were seen; thin over this stage.

What belongs here: messages. What does not: exit codes and finding the study (cli/), and everything that is decided.
"""

from collections.abc import Callable
from pathlib import Path

from toolsel_assets.catalogues.snapshots import fetch
from toolsel_assets.catalogues.versions import numbered, read_versions
from toolsel_assets.resources import Workspace
from toolsel_assets.vocabulary.problem import BadInput

Say = Callable[[str], None]


def fetch_sources(workspace: Workspace, only: str | None, say: Say) -> None:
    """Ask the live sources, or one, for their tools. One that fails is an error, after the others were saved."""
    found = fetch(Path(workspace.study_dir), workspace.snapshots, only)
    if not found.n_tools and not found.failures:
        say("no live source: a study has one where it has catalogues/<name>.mcp.yaml")
    for name, n_tools in found.n_tools.items():
        say(f"{name:<16} {n_tools} tools, {'as they were' if name not in found.changed else 'new or changed'}")
    found.raise_failures()


def fetch_before_a_run(workspace: Workspace, say: Say) -> None:
    """Ask all live sources, if there is any; a run on a list that may be old would be about another catalogue."""
    found = fetch(Path(workspace.study_dir), workspace.snapshots)
    found.raise_failures()
    if found.n_tools:
        say(f"fetched {', '.join(f'{name} ({n} tools)' for name, n in found.n_tools.items())}")


def show_versions(workspace: Workspace, say: Say) -> None:
    """Print every version that was seen, oldest first."""
    found = list(numbered(read_versions(workspace.folder("catalogues"))))
    if not found:
        raise BadInput(workspace.data_dir, "no catalogue was seen in it yet", "toolsel run")
    for one in found:
        version, back = one.version, f", as version {one.returns_to}" if one.returns_to else ""
        say(
            f"{version.catalogue:<16} {one.number:>3}  {version.seen_at:%Y-%m-%d %H:%M:%S}  {version.catalogue_hash}  "
            f"{version.n_tools} tools, {version.origin}{back}"
        )
