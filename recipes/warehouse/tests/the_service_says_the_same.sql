{# To the last digit, of whoever was decided by the model and the policy that the warehouse has now. #}
select d.application_id
from {{ source('alama', 'decisions') }} as d
join {{ ref('scores') }} as s on s.application_id = d.application_id
where d.problem is null and d.model = {{ alama_model() }} and d.policy = {{ alama_policy() }}
  and (d.score <> s.score or d.tier <> s.tier or d.default_probability <> s.default_probability)
