-- One row per (tool, field): how an argument is compared, and whether a person decided so. A field that somebody decided needs
-- no rule and a field that somebody forgot look alike in every score; here they do not. `not_in_schema` are arguments that
-- were given or labelled and that no catalogue has.
with seen as (
    select study, tool, field, count(*) as n_compared, count(*) filter (where not is_ok) as n_bad
    from scores.argument_checks group by study, tool, field
)
select
    coalesce(rules.study, seen.study) as study,                         -- the study
    coalesce(rules.tool, seen.tool) as tool,                            -- the tool
    coalesce(rules.field, seen.field) as field,                         -- the argument
    coalesce(rules.rule, 'exact') as rule,                              -- how it is compared
    case when rules.tool is null then 'not_in_schema'
         when rules.is_declared then 'declared'
         else 'undeclared' end as status,                               -- declared, undeclared or not_in_schema
    coalesce(seen.n_compared, 0) as n_compared,                         -- times it was compared, over all rungs
    coalesce(seen.n_bad, 0) as n_bad                                    -- of these, times it was not acceptable
from scores.argument_rules as rules
full join seen on seen.tool = rules.tool and seen.field = rules.field
order by n_compared desc, tool, field
