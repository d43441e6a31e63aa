"""The asset of stage 4: the tools of the study's catalogue files."""

import json

import dagster as dg

from toolsel_assets import store
from toolsel_assets.catalogues.tables import CATALOGUE_TOOLS
from toolsel_assets.graph import materialised, table_asset
from toolsel_assets.resources import Workspace


@table_asset(CATALOGUE_TOOLS)
def catalogue_tools(workspace: Workspace) -> dg.MaterializeResult[None]:
    """Load the catalogue files."""
    study, path = workspace.study(), workspace.folder("catalogues", "catalogue_tools.parquet")
    with store.RowFile(path, CATALOGUE_TOOLS) as file:
        for name, catalogue in study.catalogues.items():
            keys = {"study": study.name, "catalogue": name, "catalogue_hash": catalogue.hash}
            for position, tool in enumerate(catalogue.tools):
                params = tool.input_schema.get("properties") or {}
                size = {"n_params": len(params), "n_chars": len(json.dumps(tool.definition()))}
                file.write({**keys, "tool": tool.name, "position": position, "effect": tool.effect, **size})
    with workspace.tables() as con:
        store.load(con, CATALOGUE_TOOLS, [path])
        return materialised(con, CATALOGUE_TOOLS)
