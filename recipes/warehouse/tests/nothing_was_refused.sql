{{ config(severity='warn') }}
{# Mend the field in stg_applications and delete the row: the next run of that day scores it. #}
select application_id, problem from {{ source('alama', 'decisions') }} where problem is not null
