select a.application_id
from {{ ref('stg_applications') }} as a
left join {{ ref('scores') }} as s on s.application_id = a.application_id
where s.application_id is null
