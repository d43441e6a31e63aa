-- One row per (ladder, rung, slice, prefix): the rate by whose run the state comes from. A model that is handed another's
-- earlier steps is spared the mistakes that it would have made in them, and one that is handed its own starts where it has
-- been before: figures of own and of foreign states are two quantities. `written` states come from no run.
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    prefix,                                                             -- own (the rung's model), foreign, or written
    count(distinct request_id) as n_requests,                           -- requests
    count(*) as n,                                                      -- scored rows
    count(*) filter (where correct) as n_correct,                       -- rows whose choice is acceptable by name
    rate(n_correct, n) as rate,                                         -- n_correct / n
    pct(n_correct, n) as rate_pct,                                      -- the same in percent, half up
    effective_n(n_requests, n::double / n_requests, any_value(rho)) as effective_n, -- trials, not counted as independent
    wilson_low(rate, effective_n) as low,                               -- 95 % Wilson interval on effective_n
    wilson_high(rate, effective_n) as high                              -- 95 % Wilson interval on effective_n
from scores.scored_rows
join (select ladder, rung, slice, rho from reports.request_correlation) as correlation using (ladder, rung, slice)
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, prefix
order by ladder, rung_order, slice, prefix
