-- One row per model call that used a retired name of a tool: its calls under the names that took the place of it.
with retired as (
    select source, file_id, ordinal, calls from traces.model_calls
    where kind = 'model'
      and list_has_any(tools_called, (select coalesce(list(retired), []) from traces.retired_tools))
),
one_by_one as (
    select source, file_id, ordinal, unnest(from_json(calls, '["json"]')) as call,
           generate_subscripts(from_json(calls, '["json"]'), 1) as position
    from retired
)
select
    one.source,                                                      -- the trace source in study.yaml
    one.file_id,                                                     -- the content hash of the trace file
    one.ordinal,                                                     -- place in the file
    list(coalesce(resolved.tool, one.call ->> 'tool') order by one.position) as tools_called,  -- tools, in order
    '[' || string_agg(
        json_object('tool', coalesce(resolved.tool, one.call ->> 'tool'), 'args',
                    case when resolved.tool is null or resolved.args in ('', '{}') then one.call -> 'args'
                         else json_merge_patch(resolved.args::json, one.call -> 'args') end),
        ', ' order by one.position) || ']' as calls                  -- the action as JSON: a list of {tool, args}
from one_by_one as one
left join traces.retired_tools as resolved on resolved.retired = one.call ->> 'tool'
group by one.source, one.file_id, one.ordinal
