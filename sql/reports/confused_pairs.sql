-- One row per (ladder, rung, slice, expected, chosen) of incorrect rows: the ordered pairs, no tool included on both sides.
-- Every failure is in exactly one pair. Shares name their denominator: of all failures, and of the new ones, which are
-- rows that were right on the first rung. Expected equal to chosen: the right tool, but too often or without its partner.
with failures as (
    select
        scored.*,
        coalesce(before.correct, false) as is_new
    from (select * from scores.scored_rows where not correct) as scored
    left join (select ladder, request_id, seed, draw, correct from scores.scored_rows where rung_order = 0) as before
        using (ladder, request_id, seed, draw)
)
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, expected, chosen,
    count(*) as n_failures,                                             -- incorrect rows of the pair
    count(distinct request_id) as n_requests,                           -- requests behind them
    (sum(n_failures) over whole)::bigint as n_all_failures,                     -- incorrect rows of the rung and slice
    rate(n_failures, n_all_failures) as share_of_failures,              -- n_failures / n_all_failures
    count(*) filter (where is_new) as n_new,                            -- of these, right on the first rung
    (sum(n_new) over whole)::bigint as n_all_new,                               -- new failures of the rung and slice
    rate(n_new, n_all_new) as share_of_new,                             -- n_new / n_all_new
    min(request_id) as example                                          -- one of the requests
from failures
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, expected, chosen
window whole as (partition by ladder, rung, slice)
order by ladder, rung_order, slice, n_failures desc, expected, chosen
