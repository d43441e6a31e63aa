-- One row per (ladder, rung, slice, row_class, kind): how often each of the seven kinds came, and who can act on it. The kinds
-- are exhaustive and exclusive: those of a class sum to its rows. A kind that did not come has no row.
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, row_class, kind,
    any_value(kind_order) as kind_order,                                -- precedence among the kinds, from 1
    any_value(meaning) as meaning,                                      -- what it means
    any_value(owner) as owner,                                          -- who can act on it; empty for what is right
    count(*) as n,                                                      -- scored rows
    count(distinct request_id) as n_requests,                           -- requests behind them
    sum(count(*)) over (partition by ladder, rung, slice, row_class)::bigint as n_rows, -- scored rows of the class
    pct(n, n_rows) as share_pct,                                        -- n of n_rows in percent, half up
    min(request_id) as example                                          -- one such request
from scores.scored_rows join scores.kind_meanings using (kind)
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, row_class, kind
order by ladder, rung_order, slice, row_class, kind_order
