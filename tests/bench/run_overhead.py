"""What `toolsel run` costs on top of Dagster: the shipped example beside the same graph with empty bodies.

What belongs here: the empty graph, made from the real definitions (asset keys, deps, partitions, steps, checks, jobs),
and the alternation of the two. What does not: absolute limits; the figures depend on the machine, the ratio little.

Both are processes of their own that start with the interpreter, load the same dagster.yaml into a DAGSTER_HOME of their
own and run the jobs one after the other in process, as cli/ does. The empty graph's process never imports toolsel.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import dagster as dg

Plan = dict[str, Any]

TARGET = 2
SIDES = ("toolsel", "empty")
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
COUNTED = (
    dg.DagsterEventType.RUN_SUCCESS,
    dg.DagsterEventType.STEP_SUCCESS,
    dg.DagsterEventType.ASSET_MATERIALIZATION,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
)


# --- the empty graph ----------------------------------------------------------------------------------------------


def plan_of_toolsel() -> Plan:
    """Describe the real graph on the shipped example in plain values: its steps, checks, jobs and partitions."""
    from toolsel_assets.definitions import defs
    from toolsel_assets.graph import RUNGS
    from toolsel_assets.resources import find_study
    from toolsel_assets.study import load_study

    assets = [found for found in defs.assets or () if isinstance(found, dg.AssetsDefinition)]
    checks = [found for found in defs.asset_checks or () if isinstance(found, dg.AssetChecksDefinition)]
    layers = {job.name: defs.resolve_job_def(job.name).asset_layer for job in defs.jobs or ()}
    return {
        "steps": {a.op.name: [a.can_subset, [plain_asset(spec) for spec in a.specs]] for a in assets},
        "checks": {c.op.name: [c.can_subset, [plain_check(spec) for spec in c.check_specs]] for c in checks},
        "jobs": {name: [key.path for key in layer.executable_asset_keys] for name, layer in layers.items()},
        "partitions_def": RUNGS.name,
        "partitions": load_study(find_study("airline")).partitions(),
    }


def plain_asset(spec: dg.AssetSpec) -> Plan:
    """Give what Dagster stores of an asset; `partitioned` stands for the one partitions definition there is."""
    names = ("description", "group_name", "skippable", "code_version", "owners", "kinds")
    more = {name: list(x) if isinstance(x := getattr(spec, name), set | tuple) else x for name in names}
    deps = [dep.asset_key.path for dep in spec.deps]
    return {"key": spec.key.path, "deps": deps, "partitioned": spec.partitions_def is not None, **more}


def plain_check(spec: dg.AssetCheckSpec) -> Plan:
    """Give what Dagster stores of a check."""
    return {
        "name": spec.name,
        "asset": spec.asset_key.path,
        "description": spec.description,
        "blocking": spec.blocking,
    }


def empty_step(name: str, can_subset: bool, plans: list[Plan], rungs: dg.PartitionsDefinition[str]) -> Any:
    """Make a step of the same assets that does nothing."""

    def asset(key: list[str], deps: list[list[str]], partitioned: bool, kinds: list[str], **more: Any) -> dg.AssetSpec:
        partitions = rungs if partitioned else None
        keys = [dg.AssetKey(dep) for dep in deps]
        return dg.AssetSpec(dg.AssetKey(key), deps=keys, partitions_def=partitions, kinds=set(kinds), **more)

    specs = [asset(**plan) for plan in plans]

    @dg.multi_asset(name=name, specs=specs, can_subset=can_subset)
    def body() -> Iterator[dg.MaterializeResult[None]]:
        for spec in specs:
            yield dg.MaterializeResult(asset_key=spec.key)

    return body


def empty_check(name: str, can_subset: bool, plans: list[Plan]) -> Any:
    """Make a step of the same checks that passes them."""
    specs = [dg.AssetCheckSpec(**{**plan, "asset": dg.AssetKey(plan["asset"])}) for plan in plans]

    @dg.multi_asset_check(name=name, specs=specs, can_subset=can_subset)
    def body() -> Iterator[dg.AssetCheckResult]:
        for spec in specs:
            yield dg.AssetCheckResult(passed=True, asset_key=spec.asset_key, check_name=spec.name)

    return body


def run_empty(plan: Plan) -> None:
    """Run the three jobs of the empty graph as `toolsel run` runs its own."""
    rungs = dg.DynamicPartitionsDefinition(name=plan["partitions_def"])
    defs = dg.Definitions(
        assets=[empty_step(name, can_subset, specs, rungs) for name, (can_subset, specs) in plan["steps"].items()],
        asset_checks=[empty_check(name, can_subset, specs) for name, (can_subset, specs) in plan["checks"].items()],
        jobs=[dg.define_asset_job(name, [dg.AssetKey(key) for key in keys]) for name, keys in plan["jobs"].items()],
        executor=dg.in_process_executor,
    )
    with dg.DagsterInstance.get() as instance:
        run_job(defs, "prepare", instance)
        instance.add_dynamic_partitions(plan["partitions_def"], plan["partitions"])
        for partition in plan["partitions"]:
            run_job(defs, "replay_rung", instance, partition)
        run_job(defs, "report", instance)
    assert "toolsel_assets" not in sys.modules, "the yardstick must not pay for toolsel's imports"


def run_job(defs: dg.Definitions, job: str, instance: dg.DagsterInstance, partition: str | None = None) -> None:
    """Run one job in this process."""
    defs.resolve_job_def(job).execute_in_process(run_config=QUIET, instance=instance, partition_key=partition)


# --- measuring ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Seconds of one process: by the clock, and of all its threads on the processors, user and system."""

    wall: float
    cpu: float


def spend(command: list[str], folder: Path) -> Cost:
    """Run a command with the folder's DAGSTER_HOME and give its cost; leave with its output when it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLSEL_", "DAGSTER_"))}
    log = folder / "log.txt"
    with log.open("wb") as file:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, env={**kept, "DAGSTER_HOME": str(folder / "home")}, stdout=file, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} left with {process.returncode}\n{log.read_text(errors='replace')}")
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def fresh_folder(top: Path, name: str, dagster_yaml: Path) -> Path:
    """Make a side's folder anew: its DAGSTER_HOME, and the data beside it."""
    folder = top / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home").mkdir(parents=True)
    shutil.copy(dagster_yaml, folder / "home")
    return folder


def recorded(folder: Path) -> dict[str, int]:
    """Count what a side's instance recorded, to see that both did the same."""
    counts: Counter[str] = Counter()
    with dg.DagsterInstance.from_config(str(folder / "home")) as instance:
        for run in instance.get_runs():
            counts.update(
                entry.dagster_event.event_type.name
                for entry in instance.all_logs(run.run_id, of_type=set(COUNTED))
                if entry.dagster_event
            )
    return {kind.name: counts[kind.name] for kind in COUNTED}


def measure(top: Path, rounds: int) -> dict[tuple[str, str], list[Cost]]:
    """Alternate the sides; in each round both run twice, the second time on what the first left."""
    from toolsel_assets import store

    dagster_yaml = store.shipped("dagster_home", "_dagster_home") / "dagster.yaml"
    plan = top / "plan.json"
    plan.write_text(json.dumps(plan_of_toolsel()), encoding="utf-8")
    costs: dict[tuple[str, str], list[Cost]] = {}
    for number in range(-1, rounds):  # round -1 warms the disk and is not counted
        folders = {side: fresh_folder(top, side, dagster_yaml) for side in SIDES}
        toolsel = [str(Path(sys.executable).with_name("toolsel")), "run", "--study", "airline", "--data"]
        commands = {
            "toolsel": [*toolsel, str(folders["toolsel"] / "data")],
            "empty": [sys.executable, __file__, "--empty", str(plan)],
        }
        for which in ("first", "second"):
            for side in SIDES if number % 2 else SIDES[::-1]:
                cost = spend(commands[side], folders[side])
                if number >= 0:
                    costs.setdefault((which, side), []).append(cost)
                    print(f"  {which:<7}{side:<8}{cost.wall:6.2f} {cost.cpu:6.2f}  load {os.getloadavg()[0]:.2f}")
        if number < 0:
            both = {side: recorded(folders[side]) for side in SIDES}
            if both["toolsel"] != both["empty"]:
                sys.exit(f"the two graphs did not do the same: {both}")
            print(f"two runs of each side recorded {both['empty']}\n  run    side      wall    cpu")
    return costs


def show(costs: dict[tuple[str, str], list[Cost]]) -> None:
    """Print medians and ratios; the spread of the ratio is that over the rounds."""
    print(f"\nrun     seconds  toolsel   empty  ratio (least to most over rounds), target at most {TARGET}")
    for which in ("first", "second"):
        for name in ("wall", "cpu"):
            ours, theirs = ([float(getattr(cost, name)) for cost in costs[which, side]] for side in SIDES)
            by_round = [a / b for a, b in zip(ours, theirs, strict=True)]
            a, b = median(ours), median(theirs)
            spread = f"({min(by_round):.2f} to {max(by_round):.2f})"
            print(f"{which:<8}{name:<8}{a:8.2f}{b:8.2f}{a / b:7.2f} {spread}")


def main() -> None:
    """Run the bench, or, in its own process, the empty graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds counted, of about 40 s (default: 7)")
    parser.add_argument("--empty", type=Path, metavar="PLAN", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.empty:
        run_empty(json.loads(options.empty.read_text(encoding="utf-8")))
        return
    with tempfile.TemporaryDirectory() as top:
        show(measure(Path(top), options.rounds))


if __name__ == "__main__":
    main()
