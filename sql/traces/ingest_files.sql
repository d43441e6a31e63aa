-- One row per trace file: what was in it, and what became of it.
-- The books close: n_records = n_decisions + n_merged + n_rejects.
with decided as (
    select source, file_id, count(*) as n_decisions, count(distinct run_id) as n_runs,
           count(*) filter (action = '(no tool)') as n_no_tool,
           count(*) filter (status not in ('called', 'stopped')) as n_unscorable,
           count(*) filter (not context_complete) as n_unreplayable
    from traces.decisions
    group by source, file_id
),
merged as (
    select source, source_file, sum(n_units) as n_merged from traces.ingest_merged group by source, source_file
)
select
    files.study,
    files.source,                        -- the trace source in study.yaml
    files.source_file,                   -- the file, relative to the study
    files.source_format,                 -- the format it was read as; unknown when nothing recognised it
    files.content_hash,                  -- sha256 of the file
    files.n_bytes,                       -- size of the file
    files.seconds,                       -- time that reading took, when it was read
    files.n_records,                     -- units found: lines, spans or messages
    case when files.is_copy then 0 else coalesce(decided.n_decisions, 0) end as n_decisions,  -- decisions that it gave
    coalesce(merged.n_merged, 0)::bigint as n_merged,                  -- units that are part of a decision, or of none
    files.n_rejects,                     -- units that could not be read; each is a row of ingest_rejects
    case when files.is_copy then 0 else coalesce(decided.n_runs, 0) end as n_runs,            -- runs with a decision here
    case when files.is_copy then 0 else coalesce(decided.n_no_tool, 0) end as n_no_tool,      -- decisions to call nothing
    case when files.is_copy then 0 else coalesce(decided.n_unscorable, 0) end as n_unscorable,      -- of no scorable status
    case when files.is_copy then 0 else coalesce(decided.n_unreplayable, 0) end as n_unreplayable,  -- context incomplete
    files.n_redacted                     -- secrets and personal data replaced before anything was written
from traces.trace_files as files
left join decided using (source, file_id)
left join merged using (source, source_file)
