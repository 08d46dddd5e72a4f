{# One row a loan: how it stands, and since when. Your own words for its state become those of Alama here. #}
select application_id, disbursed_amount, repaid_amount, state, since
from {{ ref('raw_repayments') }}
