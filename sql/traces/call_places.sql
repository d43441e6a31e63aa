-- One row per decision: its place in its run, and what came before it.
with lineages as (
    -- Aggregates over narrow rows: a window would drag every column through memory.
    select calls.source, runs.run_id, any_value(runs.parent_run_id) as parent_run_id,
           any_value(runs.conversation_id) as conversation_id, any_value(runs.run_id_source) as run_id_source,
           min(calls.started_at) as started_at, min(calls.ordinal) as ordinal,
           list(struct_pack(file_id := calls.file_id, ordinal := calls.ordinal, status := calls.status,
                            tools := array_to_string(calls.tools_called, '|'))
                order by calls.length, calls.started_at, calls.ordinal, calls.call_id) as steps
    from traces.model_calls as calls join traces.call_runs as runs using (source, file_id, ordinal)
    where calls.kind = 'model'
    group by calls.source, runs.run_id, calls.lineage
),
-- Clocks of different machines disagree: the length of what was seen orders a lineage, time orders lineages.
in_order as (
    select source, run_id, max(parent_run_id) as parent_run_id, max(conversation_id) as conversation_id,
           max(run_id_source) as run_id_source,
           flatten(list(steps order by started_at nulls first, ordinal)) as steps
    from lineages
    group by source, run_id
)
select
    steps[place].file_id as file_id,                                 -- the content hash of the trace file
    steps[place].ordinal as ordinal,                                 -- place in the file
    source,                                                          -- the trace source in study.yaml
    run_id,                                                          -- the run, without its source
    parent_run_id,                                                   -- the run that started it
    coalesce(conversation_id, run_id) as thread_id,                  -- the conversation
    run_id_source,                                                   -- what says which run it is
    (place - 1)::int as step_index,                                  -- position in the run, from 0
    len(steps)::int as n_steps,                                      -- decisions in the run
    steps[-1].status = 'called' as run_truncated,                    -- whether the run ends on a call: no stop was seen
    array_to_string(list_filter(list_transform(steps[:place - 1], lambda step: step.tools),
                                lambda tools: tools <> ''), '|') as prior_actions  -- tools called earlier, with |
from (select *, unnest(range(1, len(steps) + 1)) as place from in_order)
