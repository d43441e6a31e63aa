"""The tables of stage 4."""

from toolsel_assets.store import Table, columns

CATALOGUE_TOOLS = Table(
    "catalogues",
    "catalogue_tools",
    """One row per tool of a catalogue: its effect and the size of its definition.""",
    columns(
        "study",
        catalogue="VARCHAR the file, without .json, or the live source, without .mcp.yaml",
        catalogue_hash="VARCHAR hash of the file's definitions",
        tool="VARCHAR the tool",
        position="INTEGER place in the file, from 0",
        effect="VARCHAR read, write, destructive, or unknown when nothing is declared",
        n_params="INTEGER parameters",
        n_chars="INTEGER characters of the definition as JSON",
    ),
)

CATALOGUE_VERSIONS = Table(
    "catalogues",
    "catalogue_versions",
    """One row per version of a catalogue: each state in which it was seen, in the order seen.

    A catalogue that returns to an earlier state is a new version with the hashes of the earlier one. What changed and
    changed back between two looks was not seen and is no version. Catalogues that the study no longer has stay.
    """,
    columns(
        "study",
        catalogue="VARCHAR the file, without .json, or the live source, without .mcp.yaml",
        version="INTEGER number among the versions of the catalogue, from 1",
        catalogue_hash="VARCHAR hash of the tools' definitions, whatever their order",
        order_hash="VARCHAR hash of the order of the tools in the file or on the wire",
        effects_hash="VARCHAR hash of the effects that the annotations declare, which no model sees",
        seen_at="TIMESTAMP when it was first seen to be so, UTC; it may have changed earlier",
        origin="VARCHAR file, mcp stdio or mcp http",
        n_tools="INTEGER tools",
        is_current="BOOLEAN the study's catalogue is in this state, by the latest version",
        returns_to="INTEGER the latest earlier version with the same three hashes; empty when the state is new",
    ),
)

CATALOGUE_CHANGES = Table(
    "catalogues",
    "catalogue_changes",
    """One row per change between one version of a catalogue and the next: a tool and what became of it.

    A tool that changes in two respects has two rows. A rename is what catalogues/retired.yaml says, and never guessed.
    """,
    columns(
        "study",
        catalogue="VARCHAR the catalogue",
        from_version="INTEGER the version before",
        to_version="INTEGER the version after",
        catalogue_hash="VARCHAR hash of the tools' definitions after the change",
        seen_at="TIMESTAMP when the version after was first seen, UTC",
        tool="VARCHAR the name after, or the last name of a tool that is gone; empty for the order of the list",
        change="VARCHAR added, removed, renamed, replaced, description_changed, schema_changed, effect_changed or "
        "order_changed; renamed leads to a new tool and replaced to one that was there",
        before="VARCHAR what it was: definition, name, description, schema, effect or order of the tools",
        after="VARCHAR what it is now",
    ),
)

CATALOGUE_PROBLEMS = Table(
    "catalogues",
    "catalogue_problems",
    """One row per problem of a catalogue as it is now, with which it is used all the same.

    What makes a catalogue unusable is no row: it stops the run with a message.
    """,
    columns(
        "study",
        catalogue="VARCHAR the catalogue",
        catalogue_hash="VARCHAR hash of the tools' definitions",
        tool="VARCHAR the tool; empty when it is about the whole list",
        problem="VARCHAR what it is, such as no_description, schema_is_invalid, duplicate_name",
        severity="VARCHAR error: a provider refuses it, or tools are missing; warning; information",
        detail="VARCHAR what was found",
    ),
)
