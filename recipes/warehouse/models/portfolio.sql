{{ config(materialized='table') }}
{# What was lent in a month to a tier, what was to be expected of it, and what became of it. #}
with loans as (
  select
    cast(date_trunc('month', a.applied_on) as date) as month, s.tier, s.default_probability,
    r.disbursed_amount, r.repaid_amount,
    case when r.state in ('defaulted', 'written_off', 'restructured') then 1 when r.state = 'repaid' then 0 end as bad
  from {{ ref('scores') }} as s
  join {{ ref('stg_applications') }} as a on a.application_id = s.application_id
  left join {{ ref('stg_repayments') }} as r on r.application_id = s.application_id
)
select
  month, tier, count(*) as applications, avg(default_probability) as expected_default_rate,
  count(disbursed_amount) as loans, sum(disbursed_amount) as disbursed_amount, sum(repaid_amount) as repaid_amount,
  count(bad) as ended, sum(bad) as defaults, avg(cast(bad as double precision)) as default_rate
from loans
group by month, tier
order by month, tier
