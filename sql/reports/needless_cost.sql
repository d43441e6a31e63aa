-- One row per (ladder, rung): what calls cost where none was needed, each and projected to the traffic. The cost of a needless
-- call is that of the decision that made it; the round after it, which reads the result, is not in it, so this is the least
-- that it costs. The projection weights sampled requests back to the traffic and takes decisions a day from its times; NULL
-- where the agent gives no tokens, the study no price, or the traces no times.
with judged as (
    select s.study, s.ladder, s.rung, s.rung_order, s.label_set_version, s.catalogue_hash, s.model_served, s.run_date,
           s.request_id, s.row_class = 'none' and not s.correct as needless, s.row_class = 'none' as none_needed, w.weight,
           c.input_tokens, c.output_tokens, c.latency_ms, c.cost_usd
    from scores.scored_rows as s
    join replays.choices as c using (ladder, rung, seed, draw, request_id)
    left join samples.sampled_states as w on w.decision_id = s.request_id
    where s.slice = 'existing'
),
traffic as (
    select count(*) as n_decisions, date_diff('day', min(decided_at)::date, max(decided_at)::date) + 1 as n_days
    from traces.decisions
)
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date,
    count(*) filter (where none_needed) as n_none_needed,               -- scored rows where no call was needed
    count(*) filter (where needless) as n_needless,                     -- of these, rows with a call
    pct(n_needless, n_none_needed) as needless_pct,                     -- the share in percent, half up
    sum(weight) filter (where needless) / sum(weight) as share_of_traffic, -- needless calls among all decisions, weighted
    avg(input_tokens) filter (where needless) as input_tokens_per_call, -- tokens read by such a decision, cache included
    avg(output_tokens) filter (where needless) as output_tokens_per_call, -- tokens written by it
    avg(latency_ms) filter (where needless) as latency_ms_per_call,     -- milliseconds that it took
    avg(cost_usd) filter (where needless) as usd_per_call,              -- dollars by the study's prices
    case when max(n_days) > 1 then max(n_decisions)::double / max(n_days) end as decisions_per_day, -- of the traffic, over its days
    share_of_traffic * decisions_per_day as needless_per_day,           -- projected needless calls a day
    needless_per_day * (input_tokens_per_call + output_tokens_per_call) as tokens_per_day, -- projected tokens a day
    needless_per_day * usd_per_call as usd_per_day                      -- projected dollars a day
from judged cross join traffic
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date
order by ladder, rung_order
