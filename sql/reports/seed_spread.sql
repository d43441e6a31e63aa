-- One row per (ladder, rung, slice): how much the rate moves when only the order of the tools does. This is the noise floor:
-- a difference between rungs that is smaller has not been measured. It knows nothing of the noise in which requests were
-- drawn; intervals do. NULL where there is one seed.
with seeds as (
    select study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, seed,
           avg(correct::integer) as rate
    from scores.scored_rows
    group by all
)
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    count(*) as n_seeds,                                                -- orders of the tools
    avg(rate) as mean_rate,                                             -- mean over the seeds
    tenth(100 * avg(rate)) as mean_pct,                                -- the same in percent
    min(rate) as lowest,                                                -- rate of the worst seed
    max(rate) as highest,                                               -- rate of the best seed
    case when count(*) > 1 then 100 * (max(rate) - min(rate)) end as range_pp, -- highest - lowest in points
    100 * stddev_samp(rate) as sd_pp,                                   -- standard deviation over seeds in points
    100 * stddev_samp(rate) / sqrt(count(*)) as sd_of_mean_pp           -- standard deviation of the mean in points
from seeds
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice
order by ladder, rung_order, slice
