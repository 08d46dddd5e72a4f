{{ config(materialized='table') }}
{% set beyond_the_core = [
  'avg_outflow', 'avg_balance', 'counterparties', 'tx_frequency', 'weekend_activity', 'airtime_avg', 'airtime_freq',
  'device_type', 'device_age_months', 'requested_amount', 'requested_term_days', 'loan_purpose', 'region'] %}
{# As the service does: whoever gives more than the core, and names no loan, asks for the standard loan of the policy. #}
{% set only_core = beyond_the_core | join(' is null and ') ~ ' is null' %}
with applications as (
  select
    application_id,
    mm_months, avg_inflow, avg_outflow, avg_balance, balance_stability, counterparties, tx_frequency,
    weekend_activity, airtime_avg, airtime_freq, airtime_regularity, device_type, device_age_months,
    case when {{ only_core }} then null else coalesce(requested_amount, {{ alama_amount() }}) end as requested_amount,
    case when {{ only_core }} then null else coalesce(requested_term_days, {{ alama_term_days() }}) end as requested_term_days,
    loan_purpose, region
  from {{ ref('stg_applications') }}
)
select application_id, card, score, {{ alama_tier('score') }} as tier, default_probability
from (
{{ alama_card() }}
) as carded
