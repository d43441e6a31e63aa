-- One row per pair of rungs and slice that both have: whether their rates may stand side by side, and why not. A
-- difference is given only where they may: 94.2 % and then 88.8 % on two label sets is no regression.
with rungs as (
    select study, ladder, rung, rung_order, slice, label_set_version, any_value(convention) as convention,
           any_value(instrument_version) as instrument_version, count(*) as n,
           count(*) filter (where correct) as n_correct,
           md5(string_agg(distinct request_id, '|' order by request_id)) as requests
    from scores.scored_rows
    group by all
),
pairs as (
    select a.study, a.ladder as ladder_left, a.rung as rung_left, b.ladder as ladder_right, b.rung as rung_right, a.slice,
           a.label_set_version as label_set_left, b.label_set_version as label_set_right,
           rate(a.n_correct, a.n) as rate_left, rate(b.n_correct, b.n) as rate_right,
           concat_ws('; ',
               case when a.label_set_version <> b.label_set_version then 'two label set versions: see reports.bridge' end,
               case when a.convention <> b.convention then 'two conventions for parallel calls' end,
               case when a.instrument_version <> b.instrument_version then 'two versions of the scorer' end,
               case when a.label_set_version = b.label_set_version and a.requests <> b.requests
                    then 'other requests' end) as why,
           a.rung_order as order_left, b.rung_order as order_right
    from rungs as a join rungs as b
      on a.study = b.study and a.slice = b.slice and (a.ladder, a.rung_order) < (b.ladder, b.rung_order)
)
select
    study,
    ladder_left,                                                      -- ladder of the one rung
    rung_left,                                                        -- the one rung
    ladder_right,                                                     -- ladder of the other rung
    rung_right,                                                       -- the other rung
    slice,
    label_set_left,                                                   -- label set version of the one
    label_set_right,                                                  -- label set version of the other
    case when why = '' then 'comparable' else 'not comparable' end as state, -- comparable, or not comparable
    why,                                                              -- why not; empty where they are
    rate_left,                                                        -- rate of the one
    rate_right,                                                       -- rate of the other
    case when why = '' then tenth(100 * (rate_right - rate_left)) end as difference_pp -- right minus left; NULL where not comparable
from pairs
order by ladder_left, order_left, ladder_right, order_right, slice
