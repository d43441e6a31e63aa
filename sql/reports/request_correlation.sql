-- One row per (ladder, rung, slice): how much the repeated trials of one request agree, pooled over tools. rho is the
-- one-way ANOVA intra-class correlation of `correct` within requests, about each tool's own mean, clipped to [0, 1]; it is
-- 1 where it cannot be estimated, so that more seeds then add no certainty.
with requests as (
    select ladder, rung, slice, expected, request_id, count(*) as m, avg(correct::integer) as p
    from scores.scored_rows
    group by all
),
squares as (
    select *, p - avg(p) over (partition by ladder, rung, slice, expected) as off_mean
    from requests
),
means as (
    select
        ladder, rung, slice,
        avg(m) as m,                                                                  -- trials of one request
        sum(m * off_mean * off_mean) / (count(*) - count(distinct expected)) as between_requests,
        sum(m * p * (1 - p)) / sum(m - 1) as within_requests
    from squares
    group by all
)
select
    ladder, rung, slice, m,
    case when m > 1 and between_requests + (m - 1) * within_requests > 0
         then least(1, greatest(0, (between_requests - within_requests)
                                   / (between_requests + (m - 1) * within_requests)))
         else 1 end as rho                                                            -- intra-request correlation
from means
