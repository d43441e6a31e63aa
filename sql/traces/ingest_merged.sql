-- One row per trace file and reason for which units of it are no decisions of their own.
with merged as (
    select source, file_id, reason, n, false as is_copy from traces.merged_units
    union all
    select source, file_id, fate, count(*), false from traces.call_fates where fate <> 'decision' group by all
    union all
    -- A span that is no call of the model.
    select source, file_id, 'other_span', count(*), false
    from traces.model_calls where kind in ('agent', 'tool', 'other') group by all
    union all
    select source, file_id, 'same_file', any_value(n_records), true
    from traces.trace_files where is_copy group by all
)
select
    files.study,
    files.source,                        -- the trace source in study.yaml
    files.source_file,                   -- the file, relative to the study
    merged.reason,                       -- context, bookkeeping, content_block, other_span, same_call, retry, ...
    sum(merged.n)::bigint as n_units     -- units merged for this reason
from traces.trace_files as files join merged using (source, file_id, is_copy)
group by all
