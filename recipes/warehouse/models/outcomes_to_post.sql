{# What Alama has not been told yet of loans that it decided on. A view: it is empty after posting. #}
select d.request_id, r.state as outcome, r.since, r.disbursed_amount, r.repaid_amount
from {{ ref('stg_repayments') }} as r
join {{ source('alama', 'decisions') }} as d on d.application_id = r.application_id
left join {{ source('alama', 'outcomes_posted') }} as p
  on p.request_id = d.request_id and p.outcome = r.state and p.since = r.since
where r.state <> 'open' and d.request_id is not null and p.request_id is null
