-- One row per decision: its place in its run, and what came before it.
-- A window over narrow rows and a list of tools per run: both leave memory for the disk where there are many, which lists
-- of whole steps do not.
with decisions as (
    select calls.source, calls.file_id, calls.ordinal, calls.call_id, calls.lineage, calls.length, calls.started_at,
           calls.status, array_to_string(calls.tools_called, '|') as tools, runs.run_id
    from traces.model_calls as calls join traces.call_runs as runs using (source, file_id, ordinal)
    where calls.kind = 'model'
),
lineages as (
    select source, run_id, lineage, min(started_at) as began, min(ordinal) as first_ordinal
    from decisions
    group by source, run_id, lineage
),
-- Clocks of different machines disagree: the length of what was seen orders a lineage, time orders lineages.
steps as (
    select decisions.source, decisions.file_id, decisions.ordinal, decisions.run_id, decisions.status, decisions.tools,
           row_number() over (partition by decisions.source, decisions.run_id
                              order by lineages.began nulls first, lineages.first_ordinal, lineages.lineage,
                                       decisions.length, decisions.started_at, decisions.ordinal,
                                       decisions.call_id) as place
    from decisions join lineages
      on lineages.source = decisions.source and lineages.run_id = decisions.run_id
     and lineages.lineage is not distinct from decisions.lineage
),
runs as (
    select source, run_id, count(*) as n_steps, arg_max(status, place) as last_status,
           list(tools order by place) as tools
    from steps
    group by source, run_id
),
known as (
    select source, run_id, max(parent_run_id) as parent_run_id, max(conversation_id) as conversation_id,
           max(run_id_source) as run_id_source
    from traces.call_runs
    group by source, run_id
)
select
    steps.file_id,                                                   -- the content hash of the trace file
    steps.ordinal,                                                   -- place in the file
    steps.source,                                                    -- the trace source in study.yaml
    steps.run_id,                                                    -- the run, without its source
    known.parent_run_id,                                             -- the run that started it
    coalesce(known.conversation_id, steps.run_id) as thread_id,      -- the conversation
    known.run_id_source,                                             -- what says which run it is
    (steps.place - 1)::int as step_index,                            -- position in the run, from 0
    runs.n_steps::int as n_steps,                                    -- decisions in the run
    runs.last_status = 'called' as run_truncated,                    -- whether the run ends on a call: no stop was seen
    array_to_string(list_filter(runs.tools[:steps.place - 1], lambda tools: tools <> ''), '|')
        as prior_actions                                             -- tools called earlier, with |
from steps
join runs on runs.source = steps.source and runs.run_id = steps.run_id
join known on known.source = steps.source and known.run_id = steps.run_id
