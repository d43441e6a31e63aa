-- One row per group of states (all traffic, the sample, a label set): how many called nothing. Over-sampling the end of
-- runs makes the share of the sample another than production's, on purpose; here it is seen.
with counted as (
    select study, 'traffic' as states, '' as label_set_version, sum(population) as n,
           sum(n_no_tool_population) as n_no_tool, 1 as place
    from samples.strata group by study
    union all
    select study, 'sample', '', sum(drawn), sum(n_no_tool_drawn), 2 from samples.strata group by study
    union all
    select rows.study, 'labelled states', rows.label_set_version, count(*),
           count(*) filter (where decisions.action = '(no tool)'), 3
    from labels.label_rows as rows join traces.decisions as decisions on decisions.decision_id = rows.request_id
    group by all
    union all
    select study, 'labels', label_set_version, sum(n_rows), sum(n_none), 4 from labels.label_sets group by all
)
select
    study,
    label_set_version,                                    -- the label set; empty for traffic and sample
    states,                                               -- traffic, sample, labelled states, labels
    n::bigint as n,                                       -- states
    n_no_tool::bigint as n_no_tool,                       -- of these, the agent called nothing; for labels: nothing is acceptable
    rate(n_no_tool, n) as share                           -- n_no_tool of n
from counted
where n > 0
order by place, label_set_version
