-- One row per decision: the run that it belongs to, and what says so.
-- What the format says comes first; then the conversation, own or of a span around it; then messages that begin with
-- those of an earlier call; then the trace. An agent that was started below another agent's tools is a run of its own.
with recursive decisions as (
    select calls.source, calls.file_id, calls.ordinal, calls.call_id, calls.parent_run_id,
           calls.conversation_id, calls.trace_id, calls.span_id, calls.parent_span_id, calls.started_at
    from traces.model_calls as calls join traces.call_fates as fates using (source, file_id, ordinal)
    where calls.kind = 'model' and fates.fate = 'decision' and calls.run_id is null
),
-- Spans that say something to the calls below them; without any there is nothing to climb to.
spans as (
    select source, trace_id, span_id, any_value(parent_span_id) as parent_span_id, any_value(kind) as kind,
           max(conversation_id) as conversation_id
    from traces.model_calls
    where span_id is not null and kind in ('model', 'agent', 'tool', 'other')
      and exists (select 1 from traces.model_calls where kind = 'agent'
                                                      or (kind in ('tool', 'other') and conversation_id is not null))
    group by source, trace_id, span_id
),
climb as (
    select decisions.source, decisions.trace_id, decisions.span_id as origin, decisions.parent_span_id as at, 0 as depth,
           null::varchar as conversation_id, []::struct(kind varchar, span_id varchar)[] as path
    from decisions
    where decisions.parent_span_id is not null
    union all
    select climb.source, climb.trace_id, climb.origin, spans.parent_span_id, climb.depth + 1,
           coalesce(climb.conversation_id, spans.conversation_id),
           case when spans.kind in ('agent', 'tool')
                then list_append(climb.path, struct_pack(kind := spans.kind, span_id := spans.span_id))
                else climb.path end
    from climb join spans on spans.source = climb.source and spans.trace_id = climb.trace_id and spans.span_id = climb.at
    where climb.depth < 100
),
around as (
    select source, trace_id, origin as span_id, arg_max(conversation_id, depth) as conversation_id,
           arg_max(path, depth) as path
    from climb
    group by all
),
-- An agent that asks the model itself: what it starts through its tools are sub-agents.
asking as (
    select distinct source, trace_id, list_filter(path, lambda step: step.kind = 'agent')[1].span_id as span_id
    from around
),
inner_agents as (
    select around.source, around.trace_id, around.span_id,
           list_filter(around.path, lambda step: step.kind = 'agent')[1].span_id as agent,
           list_filter(around.path, lambda step: step.kind = 'agent')[2].span_id as outer_agent
    from around
),
sub_agents as (
    select inner_agents.source, inner_agents.trace_id, inner_agents.span_id, inner_agents.agent,
           inner_agents.outer_agent
    from inner_agents
    join asking on asking.source = inner_agents.source and asking.trace_id = inner_agents.trace_id
               and asking.span_id = inner_agents.outer_agent
    where inner_agents.outer_agent <> inner_agents.agent
),
placed as (
    select decisions.source, decisions.file_id, decisions.ordinal, decisions.call_id, decisions.parent_run_id,
           decisions.trace_id, decisions.started_at,
           coalesce(decisions.conversation_id, around.conversation_id) as conversation_id,
           sub_agents.agent, sub_agents.outer_agent
    from decisions
    left join around using (source, trace_id, span_id)
    left join sub_agents using (source, trace_id, span_id)
),
-- Calls that neither a format nor a conversation places: the longest earlier list of messages that theirs begins with.
unplaced as (
    select placed.source, placed.call_id, placed.started_at, calls.prefix_hashes,
           len(calls.prefix_hashes) as n_messages,
           coalesce(placed.trace_id, placed.call_id) as place
    from placed join traces.model_calls as calls using (source, file_id, ordinal)
    where placed.conversation_id is null and placed.agent is null
      and len(calls.prefix_hashes) > 0
),
beginnings as (
    select source, place, started_at, unnest(prefix_hashes[2:-2]) as beginning
    from unplaced
    where n_messages > 2
),
-- A trace continues one that began before it, never the other way round, so that chains end.
began as (
    select source, place, (coalesce(min(started_at), timestamp '1970-01-01'), min(n_messages), place) as began
    from unplaced
    group by source, place
),
links as (
    select beginnings.source, beginnings.place,
           arg_max(earlier.place, (earlier.n_messages, earlier.started_at, earlier.call_id)) as continues
    from beginnings
    join unplaced as earlier
      on earlier.source = beginnings.source and earlier.prefix_hashes[-1] = beginnings.beginning
    join began as before on before.source = earlier.source and before.place = earlier.place
    join began as after on after.source = beginnings.source and after.place = beginnings.place
    where before.began < after.began
      and (earlier.started_at is null or beginnings.started_at is null
           or earlier.started_at <= beginnings.started_at)
    group by beginnings.source, beginnings.place
),
roots as (
    select source, place, continues as root, 0 as depth from links
    union all
    select roots.source, roots.place, links.continues, roots.depth + 1
    from roots join links on links.source = roots.source and links.place = roots.root
),
first_of_chain as (
    select source, place, arg_max(root, depth) as root from roots group by source, place
),
searched as (
    select
        placed.source,
        placed.file_id,
        placed.ordinal,
        coalesce(placed.conversation_id, first_of_chain.root, placed.trace_id, placed.call_id)
            || coalesce('/' || placed.agent, '') as run_id,
        coalesce(
            placed.parent_run_id,
            case when placed.agent is not null
                 then coalesce(placed.conversation_id, placed.trace_id)
                      || case when outer_scope.agent is not null then '/' || outer_scope.agent else '' end end
        ) as parent_run_id,
        placed.conversation_id,
        case when placed.agent is not null then 'agent'
             when placed.conversation_id is not null then 'conversation'
             when first_of_chain.root is not null then 'prefix'
             when placed.trace_id is not null then 'trace'
             else 'alone' end as found_by
    from placed
    left join first_of_chain
      on first_of_chain.source = placed.source and first_of_chain.place = coalesce(placed.trace_id, placed.call_id)
     and placed.conversation_id is null and placed.agent is null
    left join (select distinct source, trace_id, agent from sub_agents) as outer_scope
      on outer_scope.source = placed.source and outer_scope.trace_id = placed.trace_id
     and outer_scope.agent = placed.outer_agent
),
-- What the format itself says needs no search.
said as (
    select calls.source, calls.file_id, calls.ordinal, calls.run_id, calls.parent_run_id, calls.conversation_id
    from traces.model_calls as calls join traces.call_fates as fates using (source, file_id, ordinal)
    where calls.kind = 'model' and fates.fate = 'decision' and calls.run_id is not null
)
select source, file_id, ordinal,
       run_id,                                                       -- the run, without its source
       parent_run_id,                                                -- the run that started it
       conversation_id,
       coalesce(found_by, 'format') as run_id_source                 -- format, agent, conversation, prefix, trace, alone
from (select * from searched union all select *, null from said)
