"""What tests of paid agents share: the small study with a ladder whose rungs ask a model."""

import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import EXAMPLES

SECRET = "sk-ant-secret-that-must-never-be-kept"
MODEL = "claude-opus-4-6"
PRICES = {MODEL: {"input": 5.0, "output": 25.0}}


def copy_of_starter(folder: Path) -> Path:
    """Copy the small study, without its ladder."""
    shutil.copytree(EXAMPLES / "starter", folder)
    (folder / "ladders" / "growth.yaml").unlink()
    return folder


def write_ladder(study: Path, url: str, **changes: Any) -> None:
    """Write the ladder."""
    rungs = [
        {"name": "base", "catalogue": "base", "model": MODEL},
        {"name": "+rooms", "catalogue": ["base", "rooms"], "model": MODEL},
    ]
    agent = {"name": "anthropic", "params": {"base_url": url, "max_tokens": 500}, "settings": {"deadline_s": 5}}
    ladder = {"label_set": "v1", "criteria": "growth", "order_seeds": [11, 12, 13], "agent": agent, "rungs": rungs}
    (study / "ladders" / "paid.yaml").write_text(yaml.safe_dump({**ladder, **changes}), encoding="utf-8")


def change_study(study: Path, **changes: Any) -> None:
    """Change keys of study.yaml."""
    path = study / "study.yaml"
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**found, **changes}), encoding="utf-8")
