-- One row per action that the traced agent took: its share of the scorable decisions of at most one call.
-- These shares weight the per-tool
-- figures when they are rolled up, since a label set is built for coverage and traffic is not.
select
    study,
    action as tool,                                                     -- the tool called, or (no tool)
    count(*) as n_decisions,                                            -- decisions that took it
    (sum(count(*)) over (partition by study))::bigint as n_all_decisions,                         -- scorable decisions of one call at most
    rate(n_decisions, n_all_decisions) as weight                        -- n_decisions / n_all_decisions
from traces.decisions
where status in ('called', 'stopped') and n_calls <= 1
group by study, action
order by n_decisions desc, tool
