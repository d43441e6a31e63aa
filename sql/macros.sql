-- Shared arithmetic of the files in sql/. Rates are computed from counts, once, at the end.

-- Percentage of n in d with one decimal, rounded half up on integers: 171 of 240 is 71.3 and 213 of 240 is 88.8, where
-- Python, numpy and a rounded double each give other figures. NULL when there is nothing to divide by.
create or replace macro pct(n, d) as
    case when d > 0 then ((2000 * n::bigint + d::bigint) // (2 * d::bigint)) / 10.0::double end;

-- A figure that is no fraction of counts (a mean of rates, a difference) with one decimal, half up: what binary fractions
-- leave behind the ninth decimal does not decide.
create or replace macro tenth(x) as round(round(x, 9), 1);

-- A proportion; NULL, not 0 and not an error, when there is nothing to divide by.
create or replace macro rate(n, d) as case when d > 0 then n::double / d::double end;

-- Effective number of trials behind n requests that were each tried m times (n and m may be fractions): the trials of
-- one request are not independent, and rho says how much they agree (1: more trials add nothing).
create or replace macro effective_n(n, m, rho) as n * m / (1 + (m - 1) * rho);

-- Wilson score interval, 95 %, of a proportion p on n effective trials (Wilson 1927).
create or replace macro wilson_low(p, n) as case when n > 0 then greatest(0,
    (p + 3.841458820694124 / (2 * n)
     - 1.959963984540054 * sqrt(p * (1 - p) / n + 3.841458820694124 / (4 * n * n))) / (1 + 3.841458820694124 / n)) end;
create or replace macro wilson_high(p, n) as case when n > 0 then least(1,
    (p + 3.841458820694124 / (2 * n)
     + 1.959963984540054 * sqrt(p * (1 - p) / n + 3.841458820694124 / (4 * n * n))) / (1 + 3.841458820694124 / n)) end;

-- Where in its run a decision stands. The last one comes first in precedence, so that a run of a single decision is
-- "last": the stops cluster there. The way between the first and the last step is cut in thirds; a step on a cut belongs to
-- the earlier part, so that a run of four steps is first, early, middle, last.
create or replace macro position_bucket(step_index, n_steps) as
    case when step_index = n_steps - 1 then 'last'
         when step_index = 0 then 'first'
         when 3 * step_index <= n_steps - 1 then 'early'
         when 3 * step_index <= 2 * (n_steps - 1) then 'middle'
         else 'late' end;

-- What one decision did, from the tools it called: the tool, several sorted and joined by |, or (no tool).
create or replace macro action_text(tools) as
    case when len(tools) > 0 then list_aggregate(list_sort(tools), 'string_agg', '|') else '(no tool)' end;
