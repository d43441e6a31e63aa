"""The example study, from its trace file to its verdict."""

import json

from tests.conftest import EXAMPLES, Run, toolsel
from toolsel_assets import store
from toolsel_assets.vocabulary.kind import Kind

TABLES = """
decisions ingest_files ingest_rejects strata label_sets label_rows choices scored_rows aggregate per_class averages
per_tool confused_pairs flips seed_spread findings verdicts
"""


def test_all_published_tables_are_there_in_duckdb_and_parquet(airline: Run) -> None:
    names = {row["table_name"] for row in airline.rows("select table_name from duckdb_tables()")}
    assert set(TABLES.split()) <= names and "schema_version" in names
    for name in names - {"schema_version"}:
        parquet = airline.data / "published" / f"{name}.parquet"
        assert airline.one(f"select count(*) from '{parquet}'") == airline.one(f"select count(*) from {name}"), name
    assert not [p for p in (airline.data / "published").iterdir() if p.suffix in {".tmp", ".wal"}]


def test_an_independent_count_of_the_traces_agrees(airline: Run) -> None:
    runs = json.loads((EXAMPLES / "airline" / "traces" / "gpt-4o-airline.json").read_text(encoding="utf-8"))
    answers = [message for run in runs for message in run["traj"] if message["role"] == "assistant"]
    calls = sum(bool(message.get("tool_calls")) for message in answers)
    assert (len(runs), len(answers), calls) == (80, 1093, 519)
    (file,) = airline.rows("select * from ingest_files")
    assert (file["n_runs"], file["n_decisions"], file["n_no_tool"], file["n_rejects"]) == (80, 1093, 574, 0)
    assert airline.one("select count(*) from decisions where action = '(no tool)'") == 574
    assert airline.one("select count(*) from decisions where status = 'called'") == 519
    ends_on_a_call = "select count(*) from decisions where step_index = n_steps - 1 and status = 'called'"
    assert airline.one(ends_on_a_call) == 17 == sum(run["traj"][-1]["role"] == "tool" for run in runs)


def test_no_tool_is_never_sql_null(airline: Run) -> None:
    for table, column in (("decisions", "action"), ("scored_rows", "expected"), ("scored_rows", "chosen")):
        assert airline.one(f"select count(*) from {table} where {column} is null") == 0
        assert airline.one(f"select count(*) from {table} where {column} = '(no tool)'") > 0


def test_every_scored_row_has_one_of_the_seven_kinds_and_a_reason(airline: Run) -> None:
    kinds = {row["kind"] for row in airline.rows("select distinct kind from scored_rows")}
    assert kinds <= set(Kind) and "forbidden" in kinds
    assert airline.one("select count(*) from scored_rows where reason is null or reason = ''") == 0
    assert airline.one("select count(*) from scored_rows where correct <> tool_ok") == 0
    assert airline.one("select count(*) from scored_rows where correct = (pair is not null)") == 0


def test_an_agent_that_sees_no_order_has_a_seed_spread_of_exactly_zero(airline: Run) -> None:
    found = airline.rows("select range_pp, sd_pp, n_seeds from seed_spread where ladder = 'growth'")
    assert len(found) == 8 and all(row == {"range_pp": 0.0, "sd_pp": 0.0, "n_seeds": 3} for row in found)
    assert airline.rows("select range_pp from seed_spread where ladder = 'logged'") == [{"range_pp": None}]


def test_every_level_of_detail_counts_the_same_rows(airline: Run) -> None:
    for table in ("per_class", "per_tool"):
        query = f"""select count(*) from (select ladder, rung, slice, sum(n) as n, sum(n_correct) as n_correct
                    from {table} group by all) as parts join aggregate using (ladder, rung, slice)
                    where parts.n <> aggregate.n or parts.n_correct <> aggregate.n_correct"""
        assert airline.one(query) == 0, table
    failures = """select count(*) from (select ladder, rung, slice, sum(n_failures) as n_failures from confused_pairs
                  group by all) as pairs full join aggregate using (ladder, rung, slice)
                  where coalesce(n_failures, 0) <> n - n_correct"""
    assert airline.one(failures) == 0


def test_the_keys_stand_on_every_table_to_which_they_apply(airline: Run) -> None:
    keys = {"study", "ladder", "rung", "rung_order", "label_set_version", "catalogue_hash", "model_served", "run_date"}
    tables = (
        "aggregate per_class averages per_tool confused_pairs flips seed_spread scored_rows findings verdicts rung_runs"
    )
    for table in tables.split():
        columns = {row["column_name"] for row in airline.rows(f"describe {table}")}
        assert keys <= columns, table


def test_the_verdict_is_the_one_that_the_committed_criteria_give(airline: Run) -> None:
    found = {row["ladder"]: row for row in airline.rows("select * from verdicts where is_candidate")}
    assert {name: row["state"] for name, row in found.items()} == {"growth": "reject", "logged": "reject"}
    assert all(row["registered_at"] <= row["first_chosen_at"] for row in found.values())
    collapsed = "select * from findings where rung = '+retail_returns' and slice = 'existing' and state = 'reject'"
    assert {row["rule"] for row in airline.rows(collapsed)} == {"max_tool_drop_pp", "min_weighted_change_pp"}
    forbidden = "select count(distinct request_id) from scored_rows where ladder = 'logged' and kind = 'forbidden'"
    assert airline.one(forbidden) == forbidden_calls_by_an_independent_count() == 8


def forbidden_calls_by_an_independent_count() -> int:
    """Count from the two files themselves: labelled states in which the logged call is a forbidden tool."""
    study = EXAMPLES / "airline"
    called: dict[str, set[str]] = {}
    for run in json.loads((study / "traces" / "gpt-4o-airline.json").read_text(encoding="utf-8")):
        answers = [message for message in run["traj"] if message["role"] == "assistant"]
        for step, message in enumerate(answers):
            name = f"airline:task{run['task_id']}.trial{run['trial']}:{step}"
            called[name] = {call["function"]["name"] for call in message.get("tool_calls") or ()}
    labels = map(json.loads, (study / "labels" / "v1" / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    return sum(bool(called.get(row["id"], set()) & set(row["forbidden_actions"])) for row in labels)


def test_requests_written_for_new_tools_are_no_part_of_any_existing_figure(airline: Run) -> None:
    assert (
        airline.one("select count(*) from scored_rows where slice <> 'existing' and request_id like 'airline:%'") == 0
    )
    assert airline.one("select count(*) from scored_rows where ladder = 'logged' and slice <> 'existing'") == 0
    not_asked = airline.one("select n_not_served from rung_runs where ladder = 'growth' and rung_order = 0")
    assert not_asked == 40 * 3


def test_a_second_run_keeps_the_choices_and_their_time(airline: Run) -> None:
    query = "select min(chosen_at), max(chosen_at) from choices"
    before = airline.rows(query)
    again = toolsel("run", "--data", airline.data)
    assert again.code == 0 and again.err.count("kept: nothing changed") == 5
    assert airline.rows(query) == before
    assert toolsel("verdict", "--data", airline.data).code == 1


def test_the_report_shows_the_figures_and_escapes_what_traces_say(airline: Run) -> None:
    page = (airline.data / "published" / "report.html").read_text(encoding="utf-8")
    for text in ("REJECT", "178 of 200", "macro-average", "What these figures may not be used for", "(no tool)"):
        assert text in page, text
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org", "")


def test_nothing_but_the_published_folder_is_for_others(airline: Run) -> None:
    with store.connect(airline.data / "warehouse.duckdb", read_only=True) as con:
        assert store.count(con, "labels.requests") == 2 * 247  # two versions
    names = {row["table_name"] for row in airline.rows("select table_name from duckdb_tables()")}
    assert not names & {"requests", "messages"}
