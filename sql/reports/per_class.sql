-- One row per (ladder, rung, slice, row_class): the rate of each class of label. The classes partition the set. Class none
-- is the one that a metric over tool calls cannot see. The shares are the sampling quota's, not production's.
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, row_class,
    count(distinct request_id) as n_requests,                           -- requests of the class
    count(*) as n,                                                      -- scored rows
    count(*) filter (where correct) as n_correct,                       -- rows whose choice is acceptable by name
    rate(n_correct, n) as rate,                                         -- n_correct / n
    pct(n_correct, n) as rate_pct,                                      -- the same in percent, half up
    effective_n(n_requests, n::double / n_requests, any_value(rho)) as effective_n, -- trials, not counted as independent
    wilson_low(rate, effective_n) as low,                               -- 95 % Wilson interval on effective_n
    wilson_high(rate, effective_n) as high,                             -- 95 % Wilson interval on effective_n
    n::double / sum(n) over (partition by ladder, rung, slice) as weight, -- share of the rows: the most it can move the mean
    count(args_ok) as n_args_scored,                                    -- rows whose arguments can be judged
    count(*) filter (where args_ok) as n_args_correct                   -- of these, name and arguments acceptable
from scores.scored_rows
join (select ladder, rung, slice, rho from reports.request_correlation) as correlation using (ladder, rung, slice)
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, row_class
order by ladder, rung_order, slice, row_class
