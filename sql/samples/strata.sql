-- One row per stratum (position in the run, and the second column where study.yaml names one): how many decisions it
-- holds, how many were asked for and drawn, and how many of either chose no tool. The shares of the sample are the quota's;
-- those of the population are the traces', of decisions whose context is complete.
select
    counts.study,
    counts.bucket,                                               -- where in its run a decision stands
    counts.part,                                                 -- value of the second column; empty where there is none
    counts.population,                                           -- decisions in the stratum
    counts.n_no_tool_population,                                 -- of these, complete answers without a call
    counts.eligible,                                             -- of the population, those left by the cap on states that look alike
    counts.quota,                                                -- rows asked for
    coalesce(sample.drawn, 0) as drawn,                          -- rows drawn
    coalesce(sample.n_no_tool, 0) as n_no_tool_drawn,            -- of these, complete answers without a call
    rate(counts.population, coalesce(sample.drawn, 0)) as weight -- decisions that a drawn row stands for, on average
from samples.stratum_counts as counts
left join (
    select bucket, part, count(*) as drawn, count(*) filter (where action = '(no tool)') as n_no_tool
    from samples.sampled_states group by bucket, part
) as sample using (bucket, part)
