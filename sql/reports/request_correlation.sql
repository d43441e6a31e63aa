-- One row per (ladder, rung, slice): how much the repeated trials of one request agree, pooled over tools. rho is the
-- one-way ANOVA intra-class correlation of `correct` within requests, about each tool's own mean, clipped to [0, 1]; it is
-- 1 where it cannot be estimated, so that more seeds then add no certainty.
with requests as (
    select study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
           expected, request_id, count(*) as trials, avg(correct::integer) as p
    from scores.scored_rows
    group by all
),
squares as (
    select *, p - sum(trials * p) over tool / sum(trials) over tool as off_mean
    from requests
    window tool as (partition by ladder, rung, slice, expected)
),
means as (
    select
        study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
        -- Trials of one request; where requests have different numbers, the average that the ANOVA needs.
        coalesce((sum(trials) - sum(trials * trials) / sum(trials)) / nullif(count(*) - 1, 0), max(trials)) as m,
        sum(trials * off_mean * off_mean) / nullif(count(*) - count(distinct expected), 0) as between_requests,
        sum(trials * p * (1 - p)) / nullif(sum(trials - 1), 0) as within_requests
    from squares
    group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice
)
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    m,                                                                                -- trials of one request
    case when between_requests + (m - 1) * within_requests > 0
         then least(1, greatest(0, (between_requests - within_requests)
                                   / (between_requests + (m - 1) * within_requests)))
         else 1 end as rho                                                            -- intra-request correlation
from means
order by ladder, rung_order, slice
