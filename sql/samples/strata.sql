-- One row per position bucket: how many decisions it holds, how many were asked for and drawn, and how many of either
-- chose no tool. The shares of the sample are the quota's; those of the population are
-- the traces', of decisions whose context is complete.
select
    study,
    position_bucket(step_index, n_steps) as bucket,              -- where in its run a decision stands
    count(*) as population,                                      -- decisions in the bucket
    count(*) filter (where action = '(no tool)') as n_no_tool_population, -- of these, complete answers without a call
    coalesce(max(quota), 0) as quota,                            -- rows asked for
    count(sample.decision_id) as drawn,                          -- rows drawn
    count(*) filter (where sample.decision_id is not null and action = '(no tool)') as n_no_tool_drawn, -- drawn, no call
    rate(count(*), count(sample.decision_id)) as weight          -- decisions that a drawn row stands for
from (select study, step_index, n_steps, action, decision_id from traces.decisions where context_complete) as decisions
left join (select decision_id, quota from samples.sampled_states) as sample using (decision_id)
group by all
