{# To the last digit. Where it differs, another model or policy answers by now: refresh.py. #}
select d.application_id
from {{ source('alama', 'decisions') }} as d
join {{ ref('scores') }} as s on s.application_id = d.application_id
where d.problem is null
  and (d.score <> s.score or d.tier <> s.tier or d.default_probability <> s.default_probability)
