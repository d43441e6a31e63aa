-- One row per rung, slice and further label set version: the same choices judged under both versions. This is the only
-- place where figures of two label set versions stand side by side.
select
    study, ladder, rung, rung_order, label_set_version, slice,
    other_version,                                                                  -- the other label set version
    count(*) as n,                                                                  -- choices to which both versions apply
    count(*) filter (where correct) as n_correct,                                   -- acceptable under the rung's own version
    count(*) filter (where other_correct) as n_correct_other,                       -- acceptable under the other
    count(*) filter (where other_correct and not correct) as n_gained,              -- acceptable only under the other
    count(*) filter (where correct and not other_correct) as n_lost,                -- acceptable only under the rung's own
    rate(count(*) filter (where correct), count(*)) as rate,                        -- n_correct of n
    rate(count(*) filter (where other_correct), count(*)) as rate_other,            -- n_correct_other of n
    tenth(100 * (rate(count(*) filter (where other_correct), count(*))
                 - rate(count(*) filter (where correct), count(*)))) as difference_pp -- the other minus the own, points
from scores.bridged_rows
where other_correct is not null
group by all
order by ladder, rung_order, slice, other_version
