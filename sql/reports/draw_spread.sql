-- One row per (ladder, rung, slice): how much the rate moves when nothing does: the same requests in the same order of the
-- tools, asked again. It is the second term of noise, beside seed_spread, which moves the order as well. NULL where each
-- order was drawn once.
with draws as (
    select study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, seed, draw,
           avg(correct::integer) as rate
    from scores.scored_rows
    group by all
),
seeds as (
    select study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, seed,
           count(*) as n_draws, max(rate) - min(rate) as spread, var_samp(rate) as variance
    from draws
    group by all
)
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    count(*) as n_seeds,                                                -- orders of the tools
    max(n_draws) as n_draws,                                            -- draws in each order
    case when max(n_draws) > 1 then 100 * max(spread) end as range_pp,  -- widest range within one order, in points
    100 * sqrt(avg(variance)) as sd_pp                                  -- pooled standard deviation of a draw, in points
from seeds
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice
order by ladder, rung_order, slice
