{# One row an application, one column a field of Alama; null is not given. Your own columns get these names here. #}
select
  application_id, applicant_ref, applied_on,
  mm_months, avg_inflow, avg_outflow, avg_balance, balance_stability, counterparties, tx_frequency,
  weekend_activity, airtime_avg, airtime_freq, airtime_regularity,
  nullif(trim(device_type), '') as device_type, device_age_months,
  requested_amount, requested_term_days,
  nullif(trim(loan_purpose), '') as loan_purpose, nullif(trim(region), '') as region
from {{ ref('raw_applications') }}
