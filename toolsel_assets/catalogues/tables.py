"""The tables of stage 4."""

from toolsel_assets.store import Table, columns

CATALOGUE_TOOLS = Table(
    "catalogues",
    "catalogue_tools",
    """One row per tool of a catalogue file: its effect and the size of its definition.""",
    columns(
        "study",
        catalogue="VARCHAR the file, without .json",
        catalogue_hash="VARCHAR hash of the file's definitions",
        tool="VARCHAR the tool",
        position="INTEGER place in the file, from 0",
        effect="VARCHAR read, write, destructive, or unknown when nothing is declared",
        n_params="INTEGER parameters",
        n_chars="INTEGER characters of the definition as JSON",
    ),
)
