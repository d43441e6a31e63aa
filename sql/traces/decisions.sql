-- One row per decision: a point at which the loop asked the model what to do, the final stop included.
-- Every status is here; only `called` and `stopped` can be scored. Shares of this table are shares of what was traced.
-- Not an evaluation: nothing here says whether a decision was right.
with files as (
    select source, file_id, study, source_file, source_format, collected from traces.trace_files where not is_copy
),
rules as (
    -- Of several rules that fit the last one holds.
    select list(struct_pack(client_id, since, until, catalogue_hash) order by priority desc) as in_order
    from traces.joined_catalogues
)
select
    files.study,
    calls.source || ':' || calls.call_id as decision_id,             -- stable identity, from source ids
    calls.source,                                                    -- the trace source in study.yaml
    calls.source || ':' || places.run_id as run_id,                  -- <source>:<run>; sub-agents are runs of their own
    places.run_id_source,                                            -- format, agent, conversation, prefix, trace, alone
    calls.source || ':' || places.parent_run_id as parent_run_id,    -- the run that started this one
    places.thread_id,                                                -- the conversation
    calls.client_id,                                                 -- who called the agent
    places.step_index,                                               -- position in the run, from 0
    places.n_steps,                                                  -- decisions in the run
    places.run_truncated,                                            -- whether the run ends on a call: no stop was seen
    coalesce(calls.started_at, files.collected) as decided_at,       -- when, in UTC; without times the day of collection
    calls.context_id,                                                -- where the messages are: <file>:<context>
    calls.n_messages,                                                -- how many of them the model saw
    calls.last_message,                                              -- text of the last one, first 500 characters
    places.prior_actions,                                            -- tools called earlier in the run, with |
    coalesce(seen.catalogue_hash, joined.catalogue_hash, '') as catalogue_hash, -- the catalogue that the agent had
    case when seen.catalogue_hash is not null then seen.catalogue_source
         when joined.catalogue_hash is not null then 'joined'
         else 'unknown' end as catalogue_source,                     -- in_trace, names_only, joined (study.yaml), unknown
    calls.model_requested,                                           -- the model that was asked for
    calls.model_served,                                              -- the model that answered
    case when calls.status in ('called', 'stopped')
         then action_text(coalesce(resolved.tools_called, calls.tools_called))
         else '(' || calls.status || ')' end as action,              -- tools called with |, (no tool), or (status)
    case when calls.status = 'called' then len(calls.tools_called) else 0 end as n_calls, -- calls in the action
    coalesce(resolved.calls, calls.calls) as calls,                  -- the action as JSON: a list of {tool, args}
    case when resolved.calls is not null
         then action_text(calls.tools_called) end as action_as_called, -- the action before retired names were resolved
    calls.args_complete,                                             -- whether the log surely has all arguments
    calls.server_tools,                                              -- tools that the provider ran, with |: no choice of the loop
    calls.status,                                                    -- called, stopped, refused, truncated, malformed, api_error or unknown
    calls.status_detail,                                             -- why it is malformed or unknown
    calls.stop_reason,                                               -- the stop reason as the trace gives it
    coalesce(retried.n_attempts, 1) as n_attempts,                   -- attempts that it took, those that failed among them
    calls.input_tokens,                                              -- tokens read, cache included
    calls.cache_read_tokens,                                         -- tokens read from the cache
    calls.cache_write_tokens,                                        -- tokens written to the cache
    calls.output_tokens,                                             -- tokens written
    calls.latency_ms,                                                -- milliseconds from question to answer
    calls.context_problem is null as context_complete,               -- whether the messages are all that the model saw
    calls.context_problem,                                           -- why they are not; NULL when they are
    files.source_format,                                             -- the trace format
    files.source_file,                                               -- the file, relative to the study
    calls.file_id,                                                   -- content hash of the file, 12 hexadecimal digits
    md5((select any_value(sample_seed) from traces.joined_catalogues) || ':' || calls.source || ':' || calls.call_id)
        as sample_key                                                -- md5(seed:decision_id): the order of drawing
from traces.model_calls as calls
join traces.call_places as places using (source, file_id, ordinal)
left join (select source, file_id, ordinal, n_attempts from traces.call_fates where n_attempts > 1) as retried
  on retried.source = calls.source and retried.file_id = calls.file_id and retried.ordinal = calls.ordinal
join files on files.source = calls.source and files.file_id = calls.file_id
cross join rules
cross join lateral (
    select list_filter(rules.in_order, lambda rule:
        (rule.client_id is null or rule.client_id = calls.client_id)
        and (rule.since is null or coalesce(calls.started_at, files.collected) >= rule.since)
        and (rule.until is null or coalesce(calls.started_at, files.collected) < rule.until)
    )[1].catalogue_hash as catalogue_hash
) as joined
left join traces.resolved_calls as resolved on resolved.source = calls.source and resolved.file_id = calls.file_id
                  and resolved.ordinal = calls.ordinal
left join traces.trace_catalogues as seen on seen.catalogue_key = calls.catalogue_key
where calls.kind = 'model'
