-- One row per (ladder, rung, slice, effect): what wrong calls could have reached. A misroute is a call that the label does not
-- accept; what it can do is declared by the catalogue's annotations or by catalogues/effects.yaml, and absent is unknown, not
-- read-only. A name that the rung does not have is unknown as well: what a client would do with it cannot be told.
select
    s.study, s.ladder, s.rung, s.rung_order, s.label_set_version, s.catalogue_hash, s.model_served, s.run_date, s.slice,
    coalesce(t.effect, 'unknown') as effect,                            -- read, write, destructive, none, or unknown
    count(*) as n,                                                      -- scored rows with such a misroute
    count(distinct s.request_id) as n_requests,                         -- requests behind them
    count(*) filter (where s.kind = 'forbidden') as n_forbidden,        -- of these, calls that the label forbids
    count(*) filter (where s.row_class = 'none') as n_none_needed,      -- of these, where no call was needed at all
    sum(count(*)) over (partition by s.ladder, s.rung, s.slice)::bigint as n_misroutes, -- misroutes of all effects
    pct(n, n_misroutes) as share_pct,                                   -- n of n_misroutes in percent, half up
    string_agg(distinct s.chosen, '|' order by s.chosen) as tools,      -- the tools that were called
    string_agg(distinct coalesce(t.effect_source, 'not in the catalogue'), '|'
               order by coalesce(t.effect_source, 'not in the catalogue')) as effect_sources, -- who says so
    min(s.request_id) as example                                        -- one such request
from scores.scored_rows as s
left join replays.rung_tools as t on t.ladder = s.ladder and t.rung = s.rung and t.tool = s.chosen
where not s.correct and s.chosen <> '(no tool)'
group by s.study, s.ladder, s.rung, s.rung_order, s.label_set_version, s.catalogue_hash, s.model_served, s.run_date, s.slice,
         coalesce(t.effect, 'unknown')
order by s.ladder, s.rung_order, s.slice, effect
