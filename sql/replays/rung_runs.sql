-- One row per rung: its choices counted against what they must be (requests x seeds x draws), and how many of them can be
-- scored. Statuses other than called and stopped are outside every rate; they are counted here.
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash,
    coalesce(string_agg(distinct model_served, '|' order by model_served), '') as model_served, -- models that answered
    min(chosen_at)::date as run_date,                                       -- day of the first choice, UTC
    min(chosen_at) as first_chosen_at,                                      -- when the first choice was obtained, UTC
    max(n_requests * n_seeds * n_draws) as n_expected,                      -- choices that a complete rung has
    count(request_id) as n_choices,                                         -- choices that there are
    count(distinct (request_id, seed, draw)) filter (where request_id is not null) as n_distinct, -- different ones
    count(*) filter (where status in ('called', 'stopped')) as n_scorable,  -- choices that can be scored
    count(*) filter (where status = 'not_served') as n_not_served,          -- the catalogue lacks what the request needs
    count(*) filter (where status not in ('called', 'stopped', 'not_served')) as n_undecided, -- no scorable answer came
    count(*) filter (where status = 'api_error') as n_api_error,            -- of these, no answer at all: asked again next time
    count(distinct model_served) as n_models_served,                        -- models that answered, counted
    count(call_key) filter (where status <> 'api_error') as n_answers,      -- choices whose answer is in the ledger
    sum(input_tokens)::bigint as input_tokens,                              -- tokens read, cache included
    sum(cache_read_tokens)::bigint as cache_read_tokens,                    -- of these, read from the cache
    sum(cache_write_tokens)::bigint as cache_write_tokens,                  -- of these, written to the cache
    sum(output_tokens)::bigint as output_tokens,                            -- tokens written
    sum(cost_usd) as cost_usd,                                              -- dollars, as far as prices are known
    median(latency_ms) as median_latency_ms                                 -- milliseconds from question to answer
from (select study, ladder, rung, rung_order, label_set_version, catalogue_hash, n_requests, n_seeds, n_draws
      from replays.rungs) as rungs
left join (select ladder, rung, seed, draw, request_id, status, model_served, chosen_at, call_key, input_tokens,
                  cache_read_tokens, cache_write_tokens, output_tokens, cost_usd, latency_ms from replays.choices) as choices
    using (ladder, rung)
group by all
order by ladder, rung_order
