-- One row per sampled state that no label set version has a row for: what a new version would have to label. A state is
-- known by its decision_id, so that a label that was given once is used again.
select
    sample.study,
    sample.decision_id,                                                     -- the decision
    sample.bucket,                                                          -- where in its run it stands
    sample.part,                                                            -- value of the stratum's second column
    sample.decided_at,                                                      -- when it was made, UTC
    count(*) over (partition by sample.bucket, sample.part) as n_in_stratum -- unlabelled sampled states of the stratum
from samples.sampled_states as sample
where not exists (select 1 from labels.label_rows as labelled where labelled.request_id = sample.decision_id)
order by sample.bucket, sample.part, sample.decision_id
