-- One row per (ladder, rung, slice): two questions and the gap between them. Was the tool's name acceptable, and were name and
-- arguments both? Every row inside the gap is a call that a name-only figure counts as a success. Only agents that give
-- arguments are here; a row on which nothing was called counts in both, as right or as wrong.
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    count(distinct request_id) as n_requests,                           -- requests
    count(*) as n,                                                      -- scored rows whose arguments can be judged
    count(*) filter (where tool_ok) as n_name_correct,                  -- rows whose name is acceptable
    count(*) filter (where args_ok) as n_both_correct,                  -- of these, name and arguments are
    n_name_correct - n_both_correct as n_gap,                           -- rows between the two
    pct(n_name_correct, n) as name_pct,                                 -- by name, in percent, half up
    pct(n_both_correct, n) as both_pct,                                 -- by name and arguments, in percent, half up
    tenth(100.0 * n_gap / n) as gap_pp                                  -- the gap in points, from the counts
from scores.scored_rows
where args_ok is not null
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice
order by ladder, rung_order, slice
