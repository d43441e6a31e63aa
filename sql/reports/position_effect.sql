-- One row per (ladder, rung, slice, quarter): the rate by where in the list the expected tool stood. Models favour places; a
-- rung whose rate falls with the place has an order problem beside whatever else it has. Rows whose expected action is no
-- tool have no place and are not here; those of an agent that is not asked are, in the order of the file.
with placed as (
    select s.study, s.ladder, s.rung, s.rung_order, s.label_set_version, s.catalogue_hash, s.model_served, s.run_date, s.slice,
           s.request_id, s.correct, p.position, p.n_tools
    from scores.scored_rows as s
    join replays.tool_positions as p on p.ladder = s.ladder and p.rung = s.rung and p.seed = s.seed and p.tool = s.expected
)
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    1 + (4 * (position - 1)) // n_tools as quarter,                     -- 1: the first quarter of the list, 4: the last
    min(position) as first_position,                                    -- lowest place of an expected tool in it, from 1
    max(position) as last_position,                                     -- highest place
    max(n_tools) as n_tools,                                            -- tools in the list
    count(distinct request_id) as n_requests,                           -- requests; one may stand in several quarters
    count(*) as n,                                                      -- scored rows
    count(*) filter (where correct) as n_correct,                       -- rows whose choice is acceptable by name
    rate(n_correct, n) as rate,                                         -- n_correct / n
    pct(n_correct, n) as rate_pct,                                      -- the same in percent, half up
    effective_n(n_requests, n::double / n_requests, any_value(rho)) as effective_n, -- trials, not counted as independent
    wilson_low(rate, effective_n) as low,                               -- 95 % Wilson interval on effective_n
    wilson_high(rate, effective_n) as high                              -- 95 % Wilson interval on effective_n
from placed
join (select ladder, rung, slice, rho from reports.request_correlation) as correlation using (ladder, rung, slice)
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, quarter
order by ladder, rung_order, slice, quarter
