-- One row per retired tool name, client and day: how often it was still called.
-- A name with callers cannot be dropped without breaking them.
select
    decisions.study,
    one.called as retired_tool,                              -- the name that is no more
    retired_tools.tool as resolved_to,                       -- the tool that took its place
    coalesce(decisions.client_id, '') as client_id,          -- who called; empty when the trace does not say
    decisions.decided_at::date as day,                       -- the day, in UTC; NULL when no time is known
    count(*) as n_calls,                                     -- calls under the retired name
    count(distinct decisions.decision_id) as n_decisions     -- decisions that made them
from (
    select decision_id, unnest(string_split(action_as_called, '|')) as called
    from traces.decisions where action_as_called is not null
) as one
join traces.retired_tools as retired_tools on retired_tools.retired = one.called
join traces.decisions as decisions using (decision_id)
group by all
