-- One row per (ladder, rung, slice): the mean of the class rates weighted by rows (micro) and unweighted (macro). The gap
-- between them is what class size hides. Neither is a statement about production.
select
    study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice,
    count(*) as n_classes,                                              -- classes that have rows
    sum(n)::bigint as n,                                                  -- scored rows
    sum(n_correct)::bigint as n_correct,                                  -- rows whose choice is acceptable by name
    rate(sum(n_correct), sum(n)) as micro,                              -- every row counts the same
    pct(sum(n_correct), sum(n)) as micro_pct,                           -- the same in percent, half up
    avg(rate) as macro,                                                 -- every class counts the same
    tenth(100 * avg(rate)) as macro_pct,                               -- the same in percent
    tenth(100 * (micro - macro)) as gap_pp                             -- micro - macro in points
from reports.per_class
group by study, ladder, rung, rung_order, label_set_version, catalogue_hash, model_served, run_date, slice
order by ladder, rung_order, slice
