{{ config(severity='warn') }}
{# Where it is not, another model or policy answers by now: refresh.py. #}
select application_id
from {{ source('alama', 'decisions') }}
where day = (select max(day) from {{ source('alama', 'decisions') }})
  and problem is null and (model <> {{ alama_model() }} or policy <> {{ alama_policy() }})
