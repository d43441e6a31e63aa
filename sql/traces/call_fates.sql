-- One row per recorded call of the model: a decision of its own, or what it was merged as.
-- The same call exported again, a call that two instrumentations saw, and an attempt that failed and was made again are
-- one decision. Which record is kept depends on what the records hold, never on the order in which files arrived.
with calls as (
    select source, file_id, ordinal, call_id, response_id, trace_id, span_id, parent_span_id, started_at, ended_at,
           input_hash, status, coalesce(run_id, conversation_id, trace_id) as grouped_by,
           (context_problem is null)::int + 2 * (ended_at is not null)::int
               + 4 * (status not in ('unknown', 'api_error'))::int as completeness
    from traces.model_calls
    where kind = 'model'
),
repeated as (
    select source, call_id from calls group by source, call_id having count(*) > 1
),
same_call as (
    select source, file_id, ordinal
    from calls semi join repeated using (source, call_id)
    qualify row_number() over (
        partition by source, call_id order by completeness desc, ended_at desc nulls last, file_id, ordinal
    ) > 1
),
distinct_calls as (
    select * from calls anti join same_call using (source, file_id, ordinal)
),
answered_twice as (
    select source, response_id from distinct_calls where response_id is not null
    group by source, response_id having count(*) > 1
),
records_of_one_answer as (
    select * from distinct_calls semi join answered_twice using (source, response_id)
),
wrappers as (
    -- The innermost of the records of one answer is kept: it was asked last and answered first. A proxy may give one
    -- answer, with its id, to several questions: only records within one trace, or one within the time of the other, are
    -- the same call.
    select outer_call.source, outer_call.file_id, outer_call.ordinal
    from records_of_one_answer as outer_call
    join records_of_one_answer as inner_call
      on inner_call.source = outer_call.source and inner_call.response_id = outer_call.response_id
    where (inner_call.trace_id = outer_call.trace_id
           or (inner_call.started_at >= outer_call.started_at and inner_call.ended_at <= outer_call.ended_at))
      and (coalesce(inner_call.started_at, timestamp '1970-01-01'),
           coalesce(outer_call.ended_at, timestamp '1970-01-01'), inner_call.call_id)
        > (coalesce(outer_call.started_at, timestamp '1970-01-01'),
           coalesce(inner_call.ended_at, timestamp '1970-01-01'), outer_call.call_id)
    union
    -- Without ids of the answer: a call of the model directly around one that answered the same.
    select outer_call.source, outer_call.file_id, outer_call.ordinal
    from distinct_calls as outer_call
    join distinct_calls as inner_call
      on inner_call.source = outer_call.source and inner_call.trace_id = outer_call.trace_id
     and inner_call.parent_span_id = outer_call.span_id
    where outer_call.span_id is not null and inner_call.parent_span_id is not null
      and (outer_call.response_id is null or inner_call.response_id is null)
),
single_calls as (
    select * from distinct_calls anti join wrappers using (source, file_id, ordinal)
),
failed as (
    select distinct source, grouped_by, input_hash from single_calls where status = 'api_error' and input_hash is not null
),
attempts as (
    select source, file_id, ordinal, status,
           count(*) filter (status = 'api_error') over same_question as n_failed,
           row_number() over (same_question order by status = 'api_error', started_at desc nulls last, call_id) as place
    from single_calls semi join failed using (source, grouped_by, input_hash)
    window same_question as (partition by source, grouped_by, input_hash)
)
select
    calls.source,
    calls.file_id,
    calls.ordinal,
    case when same_call.ordinal is not null then 'same_call'
         when wrappers.ordinal is not null then 'instrumented_twice'
         when attempts.status = 'api_error' and attempts.place > 1 then 'retry'
         else 'decision' end as fate,                                          -- decision, or why it is none of its own
    case when attempts.place = 1
         then attempts.n_failed + (attempts.status <> 'api_error')::int else 1 end
         as n_attempts                                                         -- attempts that the decision took
from calls
left join same_call using (source, file_id, ordinal)
left join wrappers using (source, file_id, ordinal)
left join attempts using (source, file_id, ordinal)
