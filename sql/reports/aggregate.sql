-- One row per (ladder, rung, slice): all scored rows together. The denominator holds every scorable choice; what could not
-- be scored is counted in replays.rung_runs. Not for a verdict: this figure stays high while one tool or one class collapses, and its
-- class shares are the sampling quota's. Not comparable between label set versions.
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    any_value(n_tools) as n_tools,                                      -- tools shown
    count(distinct request_id) as n_requests,                           -- requests behind the rows
    count(*) as n,                                                      -- scored rows: requests x seeds x draws
    count(*) filter (where correct) as n_correct,                       -- rows whose choice is acceptable by name
    rate(n_correct, n) as rate,                                         -- n_correct / n
    pct(n_correct, n) as rate_pct,                                      -- the same in percent, half up
    count(args_ok) as n_args_scored,                                    -- rows whose arguments can be judged
    count(*) filter (where args_ok) as n_args_correct,                  -- of these, name and arguments acceptable
    pct(n_args_correct, n_args_scored) as args_rate_pct,                -- the same in percent, half up
    count(*) filter (where kind = 'forbidden') as n_forbidden           -- rows that call a forbidden tool
from scores.scored_rows
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice
order by ladder, rung_order, slice
