-- One row per labelled request that differs between a label set version and its parent: what moved, and who decided so.
-- The two versions are two instruments: a rate under one is not comparable with a rate under the other, except through
-- reports.bridge, which judges the same recorded choices under both.
with versions as (
    select label_set_version, parent_version from labels.label_sets where parent_version <> ''
),
now_rows as (
    select versions.parent_version, label_rows.*
    from versions join labels.label_rows on label_rows.label_set_version = versions.label_set_version
),
before_rows as (
    select versions.label_set_version as child_version, label_rows.*
    from versions join labels.label_rows on label_rows.label_set_version = versions.parent_version
)
select
    coalesce(now_rows.study, before_rows.study) as study,
    coalesce(now_rows.label_set_version, before_rows.child_version) as label_set_version, -- the later version
    coalesce(now_rows.parent_version, before_rows.label_set_version) as parent_version,   -- the earlier version
    coalesce(now_rows.request_id, before_rows.request_id) as request_id,
    coalesce(now_rows.slice, before_rows.slice) as slice,
    case when before_rows.request_id is null then 'added'
         when now_rows.request_id is null then 'removed'
         else 'relabelled' end as change,                                   -- added, removed or relabelled
    before_rows.row_class as class_before,                                  -- class in the parent; NULL for an added row
    now_rows.row_class as class_now,                                        -- class now; NULL for a removed row
    before_rows.valid_tools as valid_before,                                -- acceptable actions in the parent
    now_rows.valid_tools as valid_now,                                      -- acceptable actions now
    before_rows.forbidden_tools as forbidden_before,                        -- forbidden tools in the parent
    now_rows.forbidden_tools as forbidden_now,                              -- forbidden tools now
    decided.resolution,                                                     -- the decision behind it, where there is one
    decided.capability,                                                     -- the new capability behind a relabel
    decided.reason,                                                         -- why
    decided.decided_by,                                                     -- who decided
    decided.decided_on                                                      -- when
from now_rows
full join before_rows
  on before_rows.child_version = now_rows.label_set_version and before_rows.request_id = now_rows.request_id
left join (select label_set_version, request_id, resolution, capability, reason, decided_by, decided_on
           from labels.adjudications where holds) as decided
  on decided.label_set_version = coalesce(now_rows.label_set_version, before_rows.child_version)
 and decided.request_id = coalesce(now_rows.request_id, before_rows.request_id)
where now_rows.request_id is null or before_rows.request_id is null
   or (now_rows.label::json ->> '$.valid_actions') <> (before_rows.label::json ->> '$.valid_actions')
   or (now_rows.label::json ->> '$.forbidden_actions') <> (before_rows.label::json ->> '$.forbidden_actions')
   or now_rows.slice <> before_rows.slice
order by label_set_version, request_id
