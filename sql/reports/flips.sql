-- One row per (ladder, rung, slice, request, seed, draw) whose choice is another than on the first rung, where both were
-- scored. Losses and gains are counted apart: 17 losses and 1 gain are not 16 of anything.
select
    after.study, ladder, after.rung, after.rung_order, after.label_set_version, after.catalogue_hash,
    after.model_served, after.run_date, after.slice, request_id, seed, draw, after.expected,
    before.chosen_action as action_before,                              -- every tool called on the first rung
    after.chosen_action as action,                                      -- every tool called on this one
    before.kind as kind_before,                                         -- its kind on the first rung
    after.kind,
    case when before.correct and not after.correct then 'loss'
         when after.correct and not before.correct then 'gain'
         else 'moved' end as direction                                  -- loss, gain, or moved: as right or wrong as before
from scores.scored_rows as after
join (select ladder, request_id, seed, draw, chosen_action, kind, correct
      from scores.scored_rows where rung_order = 0) as before using (ladder, request_id, seed, draw)
where after.rung_order > 0
  and (before.chosen_action <> after.chosen_action or before.correct <> after.correct)
order by ladder, rung_order, request_id, seed, draw
