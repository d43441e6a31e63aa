-- One row per (ladder, rung, slice, tool, field, problem): which arguments break their rules, and how. Bucket by field before
-- arguing about the level: one defect, such as local times taken for UTC (utc_offset), is often most of it. A row of choices
-- with two bad arguments is in two rows here, so that n does not sum to the gap of argument_scores.
select
    study, ladder, rung, rung_order, label_set_version, slice,
    tool,                                                               -- the tool
    field,                                                              -- the argument
    problem,                                                            -- missing, extra, differs or utc_offset
    any_value(rule) as rule,                                            -- the rule that it breaks
    any_value(is_declared) as is_declared,                              -- whether a person declared it
    count(*) as n,                                                      -- calls
    count(distinct request_id) as n_requests,                           -- requests behind them
    sum(count(*)) over (partition by ladder, rung, slice)::bigint as n_bad_fields, -- bad arguments of the rung and slice
    pct(n, n_bad_fields) as share_pct,                                  -- n of n_bad_fields in percent, half up
    case when problem = 'utc_offset' then mode(shift_minutes) end as shift_minutes, -- the offset that is most frequent
    arg_min(want, request_id) as example_want,                          -- what the example's label has, as JSON
    arg_min(have, request_id) as example_have,                          -- what the example's call has, as JSON
    min(request_id) as example                                          -- one such request
from scores.argument_checks
where not is_ok
group by study, ladder, rung, rung_order, label_set_version, slice, tool, field, problem
order by ladder, rung_order, slice, n desc, tool, field, problem
