-- One row per tool: how often it was called again in the same run with what it had been called with before, or with less of
-- it. From the traces, not from replays: a loop is made of decisions each of which may look right by name. Widening is a call
-- whose arguments are a proper part of an earlier call's, with the same values: fewer conditions, so a wider search.
with calls as (
    select study, run_id, step_index, decision_id, position,
           json_extract_string(call, '$.tool') as tool,
           list_sort(list_transform(json_keys(coalesce(json_extract(call, '$.args'), '{}')),
                     lambda k: k || '=' || coalesce(json_extract(call, '$.args."' || k || '"')::varchar, ''))) as args
    from (
        select study, run_id, step_index, decision_id,
               unnest(json_extract(calls, '$[*]')) as call, generate_subscripts(json_extract(calls, '$[*]'), 1) as position
        from traces.decisions
        where status = 'called' and args_complete
    )
),
again as (
    select later.study, later.tool, later.run_id, later.decision_id,
           bool_or(later.args = earlier.args) as same,
           bool_or(len(later.args) < len(earlier.args) and list_has_all(earlier.args, later.args)) as wider
    from calls as later
    join calls as earlier on earlier.run_id = later.run_id and earlier.tool = later.tool
        and (earlier.step_index, earlier.position) < (later.step_index, later.position)
    group by later.study, later.tool, later.run_id, later.decision_id, later.step_index, later.position
)
select
    study,
    tool,                                                               -- the tool
    n_calls,                                                            -- calls of the tool whose arguments are known
    n_runs,                                                             -- runs that call it
    coalesce(n_same, 0) as n_same,                                      -- calls with the arguments of an earlier one of the run
    coalesce(n_wider, 0) as n_wider,                                    -- calls with a part of them: fewer conditions
    coalesce(n_repeating_runs, 0) as n_repeating_runs,                  -- runs with such a call
    pct(coalesce(n_same, 0) + coalesce(n_wider, 0), n_calls) as repeated_pct, -- both among the calls, in percent, half up
    example                                                             -- one decision that called again
from (select study, tool, count(*) as n_calls, count(distinct run_id) as n_runs from calls group by study, tool) as called
left join (
    select study, tool,
           count(*) filter (where same) as n_same,
           count(*) filter (where wider and not same) as n_wider,
           count(distinct run_id) filter (where same or wider) as n_repeating_runs,
           min(decision_id) filter (where same or wider) as example
    from again group by study, tool
) as repeated using (study, tool)
order by n_same + n_wider desc, tool
