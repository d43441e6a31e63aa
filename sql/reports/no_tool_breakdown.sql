-- One row per (ladder, rung, slice, part): what went wrong where calling nothing was right. Every failure of class none is in
-- exactly one part, so that the parts sum to the class's failures; a part without one is a row with 0. unknown_reach is the
-- residue, calls of tools whose effect nobody has declared: it is shown, and absent is not read-only.
with failures as (
    select s.study, s.ladder, s.rung, s.rung_order, s.label_set_version, s.catalogue_hash, s.model_served, s.run_date, s.slice,
           s.request_id, s.correct,
           case when s.correct then null
                when s.kind = 'forbidden' then 'forbidden'
                when clarify.request_id is not null then 'guessed_instead_of_asking'
                when t.effect in ('read', 'none') then 'redundant_read'
                when t.effect in ('write', 'destructive') then 'unneeded_write'
                else 'unknown_reach' end as part
    from scores.scored_rows as s
    left join (select distinct label_set_version, request_id from labels.label_actions where reply = 'clarify') as clarify
        on clarify.label_set_version = s.label_set_version and clarify.request_id = s.request_id
    left join replays.rung_tools as t on t.ladder = s.ladder and t.rung = s.rung and t.tool = s.chosen
    where s.row_class = 'none'
),
parts as (
    select unnest(['forbidden', 'guessed_instead_of_asking', 'redundant_read', 'unneeded_write', 'unknown_reach']) as part,
           unnest([1, 2, 3, 4, 5]) as part_order
)
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    parts.part,                                                         -- forbidden, guessed_instead_of_asking, redundant_read, ...
    parts.part_order,                                                   -- precedence: a failure is in the first that fits
    count(*) filter (where failures.part = parts.part) as n,            -- scored rows
    count(distinct request_id) filter (where failures.part = parts.part) as n_requests, -- requests behind them
    count(failures.part) as n_failures,                                 -- all failures of class none: the sum of the parts
    count(*) as n_rows,                                                 -- all scored rows of class none
    pct(n, n_failures) as share_pct,                                    -- n of n_failures in percent, half up
    min(request_id) filter (where failures.part = parts.part) as example -- one such request
from failures cross join parts
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice, parts.part, parts.part_order
order by ladder, rung_order, slice, parts.part_order
