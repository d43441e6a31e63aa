"""A study: a user's directory. Loads and validates everything in it that a person wrote, except the labels.

What belongs here: study.yaml, ladders/, criteria/, catalogues/ and prompts/, as values of the vocabulary, and errors
that name the file, the line and the key. What does not: traces (traces/), label sets (labels/), tables.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolsel_assets.vocabulary.criteria import AGGREGATES, Criteria
from toolsel_assets.vocabulary.ladder import FROM_REQUEST, Ladder, Rung, Slug
from toolsel_assets.vocabulary.live_source import ENDING, LiveSource
from toolsel_assets.vocabulary.problem import BadInput, known_names
from toolsel_assets.vocabulary.sampling import SampleSpec
from toolsel_assets.vocabulary.tool import DECLARED_EFFECTS, Catalogue, Effect, Tool
from toolsel_assets.vocabulary.tool_lists import Duplicates, ToolProblem, read_tool_list

Model = TypeVar("Model", bound=BaseModel)
ArgumentRule = Literal["exact", "ignored"]
BuiltInRedaction = Literal["secrets", "bearer", "email"]

#: libyaml's loader is ten times as fast; a PyYAML that was built without it has only its own.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TraceSource(BaseModel):
    """A source of traces. Its name begins every decision's id, so that renaming it makes other decisions of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Slug
    path: str = Field(description="a file, a directory, a glob or a url; relative to the study")
    format: str | None = Field(None, description="a module of traces/formats/; absent: recognised by content")
    collected: date | None = Field(None, description="when the traces were collected, for traces that carry no times")


class CatalogueRule(BaseModel):
    """Which catalogue the agent had, for traces that do not say: of one client, from one day, until another.

    Of several rules that fit, the last one holds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    catalogue: str
    client: str | None = Field(None, description="the client_id it holds for; absent: every client")
    since: datetime | date | None = Field(None, alias="from", description="from when, UTC; absent: always")
    until: datetime | date | None = Field(None, description="until when, UTC, exclusive; absent: for ever")


class RedactRule(BaseModel):
    """Text to be replaced before anything is written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Slug
    regex: str = Field(description="a regular expression of Python's re")


class RetiredTool(BaseModel):
    """What took the place of a retired name: catalogues/retired.yaml has the old name as the key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    args: dict[str, Any] = Field({}, description="arguments that go with it; a call's own arguments win")


class Freshness(BaseModel):
    """When a label set describes traffic that no longer exists: by its age, and by how far traffic has moved."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_age_days: int = Field(365, ge=1)
    warn_days: int = Field(180, ge=1)
    window_days: int = Field(30, ge=1, description="the latest traffic that a label set is compared with")
    warn_psi: float = Field(0.1, gt=0, description="population stability index of any column of the traffic")
    max_psi: float = Field(0.25, gt=0)
    max_p_value: float = Field(0.05, gt=0, lt=1, description="a shift that permuting runs gives as often is none")


class Price(BaseModel):
    """What a model's tokens cost, in dollars per million."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(None, ge=0, description="absent: a tenth of input")
    cache_write: float | None = Field(None, ge=0, description="absent: five quarters of input")
    batch_share: float = Field(0.5, gt=0, le=1, description="what batches cost of this")

    @property
    def of_cache_read(self) -> float:
        """Give the price of a token that is read from the cache."""
        return 0.1 * self.input if self.cache_read is None else self.cache_read

    @property
    def of_cache_write(self) -> float:
        """Give the price of a token that is written to the cache."""
        return 1.25 * self.input if self.cache_write is None else self.cache_write


class Budget(BaseModel):
    """How far a study may go: everything in its ledger counts, whichever run it was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_calls: int | None = Field(None, ge=0, description="answers in all; absent: no limit")
    max_usd: float | None = Field(None, ge=0, description="dollars in all, by the prices; absent: no limit")
    days: int | None = Field(None, ge=1, description="count the last so many days only; absent: since ever")


class StudySpec(BaseModel):
    """study.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Slug
    traces: tuple[TraceSource, ...] = Field(min_length=1)
    catalogue: str | tuple[CatalogueRule, ...] = Field(
        description="the catalogue that the traced agent had, where a trace has none; or rules by client and time; "
        f"or {FROM_REQUEST}, where none is joined: every request brings its own"
    )
    duplicate_tools: Duplicates = Field(
        "error", description="which definition counts where a catalogue has a name twice: first or last; else a mistake"
    )
    sample: SampleSpec
    freshness: Freshness = Freshness()
    max_unscorable_share: float = Field(0.05, ge=0, le=1, description="of decisions that ended in no scorable status")
    max_reject_share: float = Field(0.05, ge=0, le=1, description="of trace records that could not be read")
    max_unreplayable_share: float = Field(0.2, ge=0, le=1, description="of decisions whose context is incomplete")
    budget: Budget = Budget()
    prices: dict[str, Price] = Field(default_factory=dict, description="by the models' identifiers")
    redact: tuple[BuiltInRedaction | RedactRule, ...] = Field(
        ("secrets", "bearer", "email"), description="what is replaced in traces before anything is written"
    )

    @property
    def catalogue_rules(self) -> tuple[CatalogueRule, ...]:
        """The rules for joining a catalogue; a single name is a rule for all."""
        return (CatalogueRule(catalogue=self.catalogue),) if isinstance(self.catalogue, str) else self.catalogue


@dataclass(frozen=True)
class Study:
    """A validated study."""

    folder: Path
    spec: StudySpec
    catalogues: dict[str, Catalogue]
    prompts: dict[str, str]
    rules: dict[str, dict[str, ArgumentRule]]
    criteria: dict[str, Criteria]
    ladders: tuple[Ladder, ...]
    retired: dict[str, RetiredTool] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    sources: dict[str, LiveSource] = field(default_factory=dict)
    catalogue_problems: dict[str, tuple[ToolProblem, ...]] = field(default_factory=dict)

    def effect_of(self, tool: Tool) -> tuple[Effect, str]:
        """Say what a call of a tool can reach, and who says so. Absent is unknown, and not read-only."""
        if tool.name in self.effects:
            return self.effects[tool.name], "effects.yaml"
        return tool.effect, "undeclared" if tool.effect == "unknown" else "annotations"

    @property
    def name(self) -> str:
        """The study's name, which every published table carries."""
        return self.spec.name

    @cached_property
    def tool_names(self) -> frozenset[str]:
        """Every tool of every catalogue."""
        return frozenset(name for catalogue in self.catalogues.values() for name in catalogue.names)

    def catalogue(self, rung: Rung) -> Catalogue:
        """Put a rung's catalogue together from its files; it is empty where every request brings its own."""
        if rung.is_from_request:
            return Catalogue(FROM_REQUEST, ())
        tools = tuple(tool for name in rung.catalogue for tool in self.catalogues[name].tools)
        return Catalogue("+".join(rung.catalogue), tools)

    def prompt_hash(self, rung: Rung) -> str:
        """Hash a rung's prompt text; the hash of an absent prompt is empty."""
        return sha256(self.prompts[rung.prompt].encode()).hexdigest()[:12] if rung.prompt else ""

    def ladder(self, name: str) -> Ladder:
        """Find a ladder by name."""
        for ladder in self.ladders:
            if ladder.name == name:
                return ladder
        raise BadInput(
            str(self.folder / "ladders"), f"no ladder {name}", known_names(name, [x.name for x in self.ladders])
        )

    def rung(self, partition: str) -> tuple[Ladder, Rung]:
        """Find a rung by its partition's name, `<ladder>.<rung>`."""
        for ladder in self.ladders:
            for rung in ladder.rungs:
                if ladder.partition(rung) == partition:
                    return ladder, rung
        known = [ladder.partition(rung) for ladder in self.ladders for rung in ladder.rungs]
        raise BadInput(str(self.folder / "ladders"), f"no rung {partition}", known_names(partition, known))

    def partitions(self) -> list[str]:
        """Name the partitions of all ladders, in order."""
        return [ladder.partition(rung) for ladder in self.ladders for rung in ladder.rungs]


def load_study(folder: Path, only_ladder: str | None = None, snapshots: Path | None = None) -> Study:
    """Read a study's directory, all ladders or one. Any mistake in it raises `BadInput`.

    `snapshots` is the folder of the lists that were fetched from live sources, if the study has any.
    """
    if not (folder / "study.yaml").is_file():
        raise BadInput(str(folder), "there is no study.yaml in it", "`toolsel init DIR` writes a study to begin with")
    spec = read_yaml(folder / "study.yaml", StudySpec)
    sources = read_sources(folder)
    lists = _catalogues(folder, sources, snapshots, spec)
    catalogues = {name: catalogue for name, (catalogue, _) in lists.items()}
    joined = [rule.catalogue for rule in spec.catalogue_rules]
    _known(folder / "study.yaml", "catalogue", joined, [*catalogues, FROM_REQUEST])
    criteria = {path.stem: _criteria(path) for path in sorted((folder / "criteria").glob("*.yaml"))}
    prompts = {path.stem: path.read_text(encoding="utf-8") for path in sorted((folder / "prompts").glob("*.md"))}
    ladders = tuple(
        _ladder(path, catalogues, criteria, prompts) for path in sorted((folder / "ladders").glob("*.yaml"))
    )
    if not ladders:
        raise BadInput(str(folder / "ladders"), "there is no ladder", "at least one <name>.yaml")
    rules = _rules(folder / "catalogues" / "rules.yaml", catalogues)
    retired = _retired(folder / "catalogues" / "retired.yaml", catalogues)
    study = Study(folder, spec, catalogues, prompts, rules, criteria, ladders, retired)
    effects = _effects(folder / "catalogues" / "effects.yaml", catalogues)
    said = {name: problems for name, (_, problems) in lists.items()}
    study = replace(study, effects=effects, sources=sources, catalogue_problems=said)
    return replace(study, ladders=(study.ladder(only_ladder),)) if only_ladder else study


# --- files --------------------------------------------------------------------------------------------------------


def read_yaml(path: Path, model: type[Model], **fixed: str) -> Model:
    """Read a YAML file as a pydantic model; `fixed` are fields that the file's place decides."""
    text, document = _document(path)
    if not isinstance(document, dict):
        raise BadInput(str(path), f"found {type(document).__name__}", "a mapping of keys to values")
    try:
        return model.model_validate({**document, **fixed})
    except ValidationError as error:
        raise validation_problem(path, error, text, model) from error


def _document(path: Path) -> tuple[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        return text, yaml.load(text, Loader=LOADER)
    except UnicodeDecodeError as error:
        raise BadInput(str(path), f"byte {error.start} is no UTF-8 text") from error
    except yaml.YAMLError as error:
        raise BadInput(str(path), f"not YAML: {' '.join(str(error).split())}") from error


def validation_problem(path: Path, error: ValidationError, text: str, model: type[BaseModel]) -> BadInput:
    """Say what pydantic found, with the line of each key."""
    found = []
    for problem in error.errors():
        location = tuple(problem["loc"])
        key = ".".join(map(str, location)) or "the whole file"
        line = _line(text, location)
        if problem["type"] == "extra_forbidden":
            what = f"unknown key {key}: {known_names(str(location[-1]), _fields(model, location[:-1]))}"
        else:
            what = f"{key}: {problem['msg'].removeprefix('Value error, ')}" + _shown(problem)
        found.append(f"line {line}: {what}" if line else what)
    return BadInput(str(path), "; ".join(found))


def _shown(problem: Any) -> str:
    value = problem.get("input")
    return f", found {value!r}" if isinstance(value, str | int | float | bool) else ""


def _fields(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """List the keys that are accepted at a place, as far as the place leads through models."""
    found: Any = model
    for step in location:
        if isinstance(step, str) and isinstance(found, type) and issubclass(found, BaseModel):
            annotation = found.model_fields[step].annotation if step in found.model_fields else None
            models = [a for a in (annotation, *getattr(annotation, "__args__", ())) if isinstance(a, type)]
            found = next((a for a in models if issubclass(a, BaseModel)), None)
    return list(found.model_fields) if isinstance(found, type) and issubclass(found, BaseModel) else []


def _line(text: str, location: Sequence[int | str]) -> int | None:
    """Find the line of a key in YAML text: the deepest part of its place that exists."""
    node, line = yaml.compose(text), None
    for step in location:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == str(step)), None)
            if pair is None:
                return line
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
    return line


def _known(path: Path, key: str, used: Sequence[str] | dict[str, Any], known: Sequence[str] | dict[str, Any]) -> None:
    for name in used:
        if name not in known:
            raise BadInput(f"{path}, {key}", f"unknown name {name!r}", known_names(name, known))


# --- what stands in them ------------------------------------------------------------------------------------------


def _criteria(path: Path) -> Criteria:
    _, document = _document(path)
    if isinstance(document, dict) and (asked := sorted(AGGREGATES & document.keys())):
        raise BadInput(
            f"{path}, {asked[0]}",
            "an aggregate is no acceptance criterion",
            "an average stays high while one tool collapses; use max_tool_drop_pp, max_pair_share, "
            "min_weighted_change_pp or min_no_tool_rate",
        )
    return read_yaml(path, Criteria)


def criteria_hash(criteria: Criteria) -> str:
    """Hash what the criteria say, whatever the comments and the order in the file: 12 hexadecimal digits."""
    return sha256(criteria.model_dump_json().encode()).hexdigest()[:12]


def _ladder(
    path: Path, catalogues: dict[str, Catalogue], criteria: dict[str, Criteria], prompts: dict[str, str]
) -> Ladder:
    if not re.fullmatch(r"[a-z0-9_+-]+", path.stem):
        raise BadInput(str(path), f"{path.stem!r} cannot name a ladder", "lower-case letters, digits, _, + and -")
    ladder = read_yaml(path, Ladder, name=path.stem)
    _known(path, "criteria", [ladder.criteria], criteria)
    for position, rung in enumerate(ladder.rungs):
        if not rung.is_from_request:
            _known(path, f"rungs.{position}.catalogue", rung.catalogue, [*catalogues, FROM_REQUEST])
        _known(path, f"rungs.{position}.prompt", [rung.prompt] if rung.prompt else [], prompts)
        files = () if rung.is_from_request else rung.catalogue
        names = [tool.name for name in files for tool in catalogues[name].tools]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadInput(
                f"{path}, rungs.{position}.catalogue",
                f"{', '.join(twice)} in more than one of {', '.join(rung.catalogue)}",
                "a model is shown each name once; leave it out of one of the files",
            )
    return ladder


def read_sources(folder: Path) -> dict[str, LiveSource]:
    """Read the live sources of a study by the names of their catalogues. Needs nothing else of the study."""
    paths = sorted((folder / "catalogues").glob(f"*{ENDING}"))
    return {path.name.removesuffix(ENDING): read_yaml(path, LiveSource) for path in paths}


def _catalogues(
    folder: Path, sources: dict[str, LiveSource], snapshots: Path | None, spec: StudySpec
) -> dict[str, tuple[Catalogue, tuple[ToolProblem, ...]]]:
    files = {path.stem: path for path in sorted((folder / "catalogues").glob("*.json"))}
    for name in sources:
        source, snapshot = folder / "catalogues" / f"{name}{ENDING}", (snapshots or Path()) / f"{name}.json"
        if name in files:
            raise BadInput(str(source), f"there is {name}.json as well", "one of them, or another name")
        if snapshots is None or not snapshot.is_file():
            raise BadInput(str(source), "its tools were never fetched", f"toolsel catalogue fetch {name}")
        files[name] = snapshot
    if FROM_REQUEST in files:
        raise BadInput(str(files[FROM_REQUEST]), "its name says that every request brings its own", "another name")
    if not files and spec.catalogue != FROM_REQUEST:
        raise BadInput(
            str(folder / "catalogues"), "there is no catalogue", "at least one <name>.json as MCP tools/list"
        )
    return {name: read_catalogue(path, spec.duplicate_tools) for name, path in sorted(files.items())}


def read_catalogue(path: Path, duplicates: Duplicates = "error") -> tuple[Catalogue, tuple[ToolProblem, ...]]:
    """Read a catalogue's file, in any form of vocabulary/tool_lists.py, and what is to be said of it."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(str(path), f"not JSON: {error}") from error
    found = read_tool_list(document, str(path), duplicates)
    return Catalogue(path.stem, found.tools), found.problems


def _effects(path: Path, catalogues: dict[str, Catalogue]) -> dict[str, Effect]:
    """Read what calls can reach, where a person knows better than the catalogues' annotations."""
    if not path.exists():
        return {}
    _, document = _document(path)
    if not isinstance(document, dict):
        raise BadInput(str(path), "found no mapping", "tool: read | write | destructive | none")
    tools = {tool.name for catalogue in catalogues.values() for tool in catalogue.tools}
    for name, effect in document.items():
        _known(path, "tool", [str(name)], sorted(tools))
        _known(path, str(name), [str(effect)], DECLARED_EFFECTS)
    return document


def _retired(path: Path, catalogues: dict[str, Catalogue]) -> dict[str, RetiredTool]:
    """Read the retired names. One may not be a name that a catalogue still has, nor lead to one that none has."""
    if not path.exists():
        return {}
    text, document = _document(path)
    if not isinstance(document, dict):
        raise BadInput(str(path), "found no mapping", "old_name: new_name, or old_name: {tool: new_name, args: {...}}")
    tools = {tool.name for catalogue in catalogues.values() for tool in catalogue.tools}
    found = {}
    for name, entry in document.items():
        try:
            rule = RetiredTool.model_validate({"tool": entry} if isinstance(entry, str) else entry)
        except ValidationError as error:
            raise validation_problem(path, error, text, RetiredTool) from error
        _known(path, f"{name}.tool", [rule.tool], sorted(tools))
        found[str(name)] = rule
    return found


def _rules(path: Path, catalogues: dict[str, Catalogue]) -> dict[str, dict[str, ArgumentRule]]:
    if not path.exists():
        return {}
    _, document = _document(path)
    if not isinstance(document, dict):
        raise BadInput(str(path), "found no mapping", "tool: {field: exact | ignored}")
    tools = {tool.name: tool for catalogue in catalogues.values() for tool in catalogue.tools}
    for name, fields in document.items():
        _known(path, "tool", [str(name)], tools)
        if not isinstance(fields, dict):
            raise BadInput(f"{path}, {name}", f"found {type(fields).__name__}", "field: exact | ignored")
        for key, rule in fields.items():
            _known(path, f"{name}, field", [str(key)], tools[name].input_schema.get("properties", {}))
            _known(path, f"{name}.{key}", [str(rule)], ("exact", "ignored"))
    return document
