"""What each public code means, and what a caller can do about it.

The OpenAPI document, the reference page and docs/generated/codes.md say it in these words. Codes
are a promise: one that was given is never given another meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Meaning(NamedTuple):
    """When a code is given, and what to do then."""

    when: str
    remedy: str


PROBLEMS: Final[Mapping[str, Meaning]] = {
    "malformed_json": Meaning(
        "The body is not one JSON object in UTF-8; `detail` says where it stops being one.",
        "Mend how the body is written. Sending it again unchanged cannot help.",
    ),
    "malformed_http": Meaning(
        "What came is not a request of HTTP/1.1, or one that could be read in two ways: a header "
        "that must be single came twice, `Host` is missing.",
        "Mend what sends it; `detail` names the header. The connection is closed.",
    ),
    "invalid_parameter": Meaning(
        "A query parameter or header is unknown, stands twice or breaks its rule.",
        "Read `detail`: it names what the path knows.",
    ),
    "key_missing": Meaning(
        "No API key came with the request.",
        "Send the header `Authorization: Bearer <API_KEY>`.",
    ),
    "key_refused": Meaning(
        "The key is mistyped, unknown here or revoked.",
        "Copy the key again, whole. If it was revoked, ask the operator for another.",
    ),
    "key_expired": Meaning(
        "The key was good until its day came.",
        "Ask the operator for a new one; a key that is rotated in time overlaps with the next.",
    ),
    "scope_missing": Meaning(
        "The key may not do this; `detail` names the scope that may.",
        "Use a key that has the scope, or ask the operator for a new one: a rotated key keeps its "
        "scopes.",
    ),
    "onboarding_incomplete": Meaning(
        "A live key of a lender who has no approved model yet; `detail` names the missing step.",
        "Score with a test key until the step is done.",
    ),
    "not_found": Meaning(
        "Nothing is served at this path.",
        "Compare the path with the reference at `/docs`; paths have no slash at the end.",
    ),
    "unknown_score": Meaning(
        "There is no score with this `request_id` for this lender and mode.",
        "Check the id, and that a test key asks for test scores and a live key for live ones.",
    ),
    "unknown_applicant": Meaning(
        "Nothing is held on this applicant for this lender and mode.",
        "Send the `applicant_ref` letter by letter. One who was erased is not known any more.",
    ),
    "no_receipt": Meaning(
        "The audit has no entry of this score, which was given before there was an audit.",
        "Read the score itself at `/v1/scores/{request_id}`.",
    ),
    "unknown_webhook_endpoint": Meaning(
        "There is no webhook endpoint with this id for this lender and mode.",
        "Check the id, and that a test key asks for those of test mode; the list has them all.",
    ),
    "unknown_event": Meaning(
        "There is no event with this id for this lender and mode, or none any more.",
        "Check the id. Events are kept for 30 days.",
    ),
    "unknown_model": Meaning(
        "No such model gave scores for this lender and mode.",
        "Leave `model` out for the one that answers; the report names the others.",
    ),
    "unknown_history": Meaning(
        "There is no loan history with this id for this lender.",
        "Check the id: the job that was asked for when it was handed in names it.",
    ),
    "unknown_candidate": Meaning(
        "There is no candidate with this id for this lender.",
        "Check the id: the job that trained it names it once it is done.",
    ),
    "unknown_job": Meaning(
        "There is no job with this id for this lender.",
        "Check the id; `/v1/onboarding` names the last of each kind.",
    ),
    "method_not_allowed": Meaning(
        "The path is right, the method is not.",
        "Use a method that the header `Allow` names.",
    ),
    "request_timeout": Meaning(
        "The head of a request took longer than 10 seconds to come, or its body longer than 30 and "
        "a second for each 16 KiB of it.",
        "Send it again, whole. The connection is closed.",
    ),
    "statement_password": Meaning(
        "The PDF is protected, and no password or a wrong one came with it.",
        "Send as `password` the one that the applicant got with the statement.",
    ),
    "statement_too_costly": Meaning(
        "Reading the PDF would take more memory, time or pages than one file may, or it broke what "
        "reads PDFs. Nothing else was held up by it.",
        "Ask the applicant for the statement again, or for a shorter period, as it came.",
    ),
    "erased": Meaning(
        "What the applicant of this score sent was erased; `detail` says when.",
        "Nothing: it cannot be had again. Its decision is still listed at `/v1/scores`.",
    ),
    "under_hold": Meaning(
        "A legal hold stands on the applicant, so nothing of theirs is erased; `detail` says why.",
        "Ask the operator to release it once the case is over, and send the request again.",
    ),
    "lists_full": Meaning(
        "The block list and the watch list have as many entries as a book may have, together.",
        "Take those off whose time is over, and whoever is on them for no reason any more.",
    ),
    "already_reviewed": Meaning(
        "Somebody has reviewed this score before, and said something else; `detail` says when.",
        "Read the score: its `review` stands. The same review sent again is no problem.",
    ),
    "portfolio_full": Meaning(
        "A cap of the policy's portfolio that declines has no room for the loan; `detail` has it.",
        "Send the review again once there is room, or decline.",
    ),
    "idempotency_in_flight": Meaning(
        "The first request under this `Idempotency-Key` is still being answered, after a second.",
        "Send the same request again after `Retry-After` seconds: it gets the same reply.",
    ),
    "webhook_endpoint_disabled": Meaning(
        "The webhook endpoint is disabled, so nothing is sent to it.",
        "Enable it with `PATCH`, and then send the same request again.",
    ),
    "too_many_endpoints": Meaning(
        "There are twenty webhook endpoints already for this lender and mode.",
        "Remove one, or have one of them pass events on.",
    ),
    "fewer_eyes": Meaning(
        "Two people approve a model of this lender, and over HTTP that cannot become one.",
        "Send `approvers` as 2, or ask the operator to lower it.",
    ),
    "law_elsewhere": Meaning(
        "Nobody lends in the lender's currency under the law that `jurisdiction` names.",
        "Name the jurisdiction whose law holds for its loans, or leave it out.",
    ),
    "step_missing": Meaning(
        "A step of the onboarding before this one is not done; `detail` names it.",
        "Do that step first. `/v1/onboarding` shows all of them.",
    ),
    "job_under_way": Meaning(
        "The same is being done for this lender already; `detail` names the job.",
        "Ask how far that job has come, and send the request again when it is over.",
    ),
    "histories_full": Meaning(
        "The loan histories of this lender take 256 MiB already, and no more are taken.",
        "Ask the operator to erase the file of one. One that could not be read goes by itself "
        "within two hours.",
    ),
    "history_forgotten": Meaning(
        "The file of this loan history was erased; only its report is left.",
        "Hand the file in again, and train on that.",
    ),
    "gate_failed": Meaning(
        "The candidate has failed a gate, so nobody can approve it; `detail` says which.",
        "Read the pack, and train again on other or more loans.",
    ),
    "approval_blocked": Meaning(
        "The model cannot answer as things stand; `detail` says why.",
        "Do what `detail` says; mostly train again, or set another policy.",
    ),
    "signature_refused": Meaning(
        "This signature does not count: the person or the key has signed, or the model answers.",
        "Have somebody else sign, with a key of their own.",
    ),
    "model_withdrawn": Meaning(
        "The only models to go back to were themselves rolled back; `detail` says by whom and why.",
        "Sign the candidate again, or ask the operator to pause the lender.",
    ),
    "nothing_before": Meaning(
        "No other model of this lender ever answered live, so there is no way back.",
        "Ask the operator to pause the lender: every decision is then left to a person.",
    ),
    "body_too_large": Meaning(
        "The body is larger than 64 KiB; one of outcomes, than 512 KiB; of loans, than 1 MiB; a "
        "loan history, than 64 MiB.",
        "Send the fields that the operation knows and nothing else; outcomes and loans in several "
        "requests; of a history the newest loans.",
    ),
    "statement_unreadable": Meaning(
        "The file is no statement that can be read: damaged, of a format that is not known, in "
        "another currency, or larger than one may be.",
        "Read `detail`, and send the file as its source gave it.",
    ),
    "mapping_needed": Meaning(
        "The columns of a table are not those of a wallet that is known, or its dates can be read "
        "in two ways.",
        "Look at `proposal`, which says how the table may be read; answer what is `open` there, "
        "and send its `mapping` with the file. Where there is none, name the columns yourself.",
    ),
    "unsupported_media_type": Meaning(
        "The body is not said to be JSON, plain or gzip; a loan history, CSV or Parquet.",
        "Send the header `Content-Type: application/json`, or the one that `detail` names.",
    ),
    "invalid_application": Meaning(
        "Fields of the application break rules; `errors` lists them, up to a hundred.",
        "Mend the fields that `errors` points to. Nothing was scored and nothing stored.",
    ),
    "invalid_file": Meaning(
        "The file is no table by its first bytes, or has too many columns; `detail` says which.",
        "Send CSV (UTF-8, commas; plain or gzip) or Parquet, as its `Content-Type` says.",
    ),
    "invalid_request": Meaning(
        "Fields of a body that is no application break rules; `errors` lists them.",
        "Mend the fields that `errors` points to. Nothing was done.",
    ),
    "idempotency_key_reused": Meaning(
        "This `Idempotency-Key` came with another body or query within the last 72 hours.",
        "Take a new key for a new request; a retry has the same values and asks for the same.",
    ),
    "too_many_requests": Meaning(
        "The key is over its rate.",
        "Wait `Retry-After` seconds. `RateLimit` says how many are left.",
    ),
    "head_too_large": Meaning(
        "The request line and the headers have more than 32 KiB, or what stands between and after "
        "the chunks of a body.",
        "Send the headers that the operation knows. The connection is closed.",
    ),
    "internal_error": Meaning(
        "A defect of Alama. It is logged under the `request_id`.",
        "Tell the operator the `request_id`. With an `Idempotency-Key` it is safe to try again.",
    ),
    "busy": Meaning(
        "More explanations or monitoring reports are asked for at once than can be given, or more "
        "connections are open than can be kept. Nothing was done.",
        "Send the same request again after `Retry-After` seconds.",
    ),
    "model_unavailable": Meaning(
        "A model, a policy or the report of a loan history that the answer needs cannot be used; "
        "`detail` says why.",
        "Tell the operator, who has to mend it. Stored scores can be read meanwhile.",
    ),
    "unavailable": Meaning(
        "The database cannot take or give anything right now. No score was acknowledged.",
        "Send the same request again after `Retry-After` seconds, with its `Idempotency-Key`.",
    ),
}
"""By the `code` of a problem."""

FIELDS: Final[Mapping[str, Meaning]] = {
    "missing_field": Meaning(
        "A required field is not there, or is null.",
        "Send it, in either spelling.",
    ),
    "unknown_field": Meaning(
        "There is no such field; where a known name is near, `detail` names it.",
        "Mend the name or leave it out. A typo that is dropped in silence changes a decision.",
    ),
    "evidence_invalid": Meaning(
        "`evidence` is not a token as it was given for this lender and mode, or was changed.",
        "Send it as POST /v1/fields gave it, with a key of the same lender and mode.",
    ),
    "evidence_expired": Meaning(
        "`evidence` is older than a week, or three days where it was given for nobody.",
        "Have a new statement read.",
    ),
    "evidence_differs": Meaning(
        "The figure is not the one that was derived from the statement, or is left out.",
        "Send the fields as POST /v1/fields gave them, or all of them without `evidence`.",
    ),
    "evidence_of_another": Meaning(
        "`evidence` was given for an `applicant_ref`, and the application names another or none.",
        "Send the `applicant_ref` that POST /v1/fields was told, or have another read.",
    ),
    "evidence_used": Meaning(
        "`evidence` was given for nobody, and a score with it names another applicant or none.",
        "Have the statement read for this applicant, with `applicant_ref`; then it serves as often "
        "as they apply. A retry takes the `Idempotency-Key` of its first.",
    ),
    "evidence_required": Meaning(
        "The lender's policy scores only what was derived from a statement.",
        "Have the statement read by POST /v1/fields, and send its `evidence` among the fields.",
    ),
    "prohibited_field": Meaning(
        "The field must never be used for a credit decision, such as contacts, messages or gender.",
        "Stop sending it, and do not send it under another name.",
    ),
    "wrong_type": Meaning(
        "The value is not of the field's type: a number in quotes, 24.5 for a whole number.",
        "Send the type of JSON that `detail` says.",
    ),
    "out_of_range": Meaning(
        "The value is outside the field's range, or a string is empty or too long.",
        "Check the unit: shares are 0 to 1, money is in the lender's currency.",
    ),
    "invalid_url": Meaning(
        "Events cannot be sent to this URL; `detail` says why.",
        "Name a host of the public internet, over https. Whoever runs the service can allow more.",
    ),
    "conflicting_fields": Meaning(
        "Both spellings of one field came, with different values.",
        "Send one of them.",
    ),
    "duplicate_field": Meaning(
        "The same name stands more than once in the body.",
        "Send it once; parsers disagree on which of two counts.",
    ),
    "personal_identifier": Meaning(
        "The reference looks like a phone number, an e-mail address or a national id: it holds an "
        "`@`, or is seven or more digits alone.",
        "Send an opaque reference of your own. Put a letter in front of a customer number.",
    ),
    "unknown_fixture": Meaning(
        "In test mode a reference that begins with `fixture-` names one of the sandbox, and this "
        "is none.",
        "Take the nearest, which `detail` names, or a reference that begins otherwise.",
    ),
}
"""By the `code` of one of a problem's `errors`."""

RULES: Final[Mapping[str, Meaning]] = {
    "tier_below_cutoff": Meaning(
        "The score is in a tier that the policy declines.",
        "Lend nothing; with `seldom_booked` beside it a person decides, and not the score. "
        "`shap_values` says which fields lowered the score, and by how much.",
    ),
    "tier_in_review": Meaning(
        "The score is in a tier that the policy leaves to a person.",
        "Have a person decide; they may lend up to the limit, on the terms of the reply.",
    ),
    "unaffordable": Meaning(
        "Not even the smallest loan, for whatever term, fits into the share of the monthly inflow "
        "that the tier allows, less `existing_repayments`.",
        "Lend nothing. Check that both are amounts a month, in the lender's currency.",
    ),
    "offer_below_cutoff": Meaning(
        "The loan as requested is above the cut-off, but no loan that the policy offers is: each "
        "would itself have a score in a tier that is declined.",
        "Lend nothing. The loans on offer are riskier for this applicant than the one asked for.",
    ),
    "below_break_even": Meaning(
        "Whatever is offered would lose money at the highest price that the policy allows.",
        "As the policy says: lend nothing, or have a person decide on the smallest loan.",
    ),
    "outflow_above_inflow": Meaning(
        "More money goes out than comes in, by more than the policy lets pass.",
        "Have a person ask where the rest comes from. Check that both are amounts a month.",
    ),
    "too_few_fields": Meaning(
        "Fewer fields are given than the policy wants for a decision.",
        "Have a person decide, or send more of the fields.",
    ),
    "value_outside_training": Meaning(
        "A number is far outside all that the model was trained on.",
        "Have a person check the data: a wrong unit or currency looks like this.",
    ),
    "unlike_training": Meaning(
        "The fields together are unlike those of nearly every application in training.",
        "Have a person check the data: fields of two people, or made-up ones, look like this.",
    ),
    "seldom_booked": Meaning(
        "Such applications were seldom booked in the history that the lender's model learned from.",
        "Have a person decide: no loan of that history says how such applicants repay.",
    ),
    "late_on_a_loan": Meaning(
        "A payment on another loan of this borrower is late, by more than the policy lets pass.",
        "Lend nothing until it is paid; tell of the payment by `POST /v1/loans`.",
    ),
    "asked_often": Meaning(
        "This borrower has asked as often within 24 hours as the policy lets pass.",
        "Have a person decide: whoever asks for less and less until it is granted needs a word.",
    ),
    "exposure": Meaning(
        "What this borrower owes leaves no room for another loan under the policy's cap.",
        "Lend nothing until something is paid back; approvals of the last three days count too.",
    ),
    "ladder": Meaning(
        "What this borrower owes is all that the policy lends to somebody who has repaid so much.",
        "Lend nothing until a loan is paid back: the next one may be larger then.",
    ),
    "blocked": Meaning(
        "The applicant is on the lender's block list.",
        "Lend nothing. `/v1/lists/find` says since when, why, and who put them there.",
    ),
    "watched": Meaning(
        "The applicant is on the lender's watch list.",
        "Have a person decide. `/v1/lists/find` says since when, why, and who put them there.",
    ),
    "explored": Meaning(
        "Nothing but the tier was against it, and the lot of `[exploration]` has fallen on it.",
        "Lend, up to the limit: what becomes of the loan teaches what such applicants repay.",
    ),
    "shadow": Meaning(
        "The lender has no model of its own yet; `score` is that of the built-in model.",
        "Have a person decide on every application until a model is approved.",
    ),
    "paused": Meaning(
        "The lender's decisions are paused; `offer` is what would have applied.",
        "Have a person decide on every application until the pause ends.",
    ),
    "daily_volume": Meaning(
        "The limits that were approved today have reached what the policy allows for a day.",
        "Have a person decide until the next day, or ask the risk officer.",
    ),
    "daily_expected_loss": Meaning(
        "What today's approved limits are expected to lose has reached what the policy allows.",
        "Have a person decide until the next day, or ask the risk officer.",
    ),
    "statement_doubtful": Meaning(
        "The evidence that came with the figures says that the statement does not hold together: a "
        "check failed, or two could not tell.",
        "Have a person look at the statement and its checks, and ask for it from its source.",
    ),
}
"""By the code of one of a decision's `rules`. A policy's own go by the names it gives them."""

OBSTACLES: Final[Mapping[str, Meaning]] = {
    "rule": Meaning(
        "A rule of the policy objects whatever is changed; `rule` names it.",
        "See what the rule is about. Where decisions are held, ask again when they are not.",
    ),
    "tier": Meaning(
        "The policy approves no tier at all.",
        "Have a person decide; that is what the policy wants.",
    ),
    "locked": Meaning(
        "It would work if `features` were not locked.",
        "Ask again without them in `locked`, if the applicant can change them after all.",
    ),
    "more_changes": Meaning(
        "It would work, but takes more than three changes, such as of `features`.",
        "Name a nearer `target`, and go on from there.",
    ),
    "plausibility": Meaning(
        "It would work, but `features` would together look like nobody's in training.",
        "Have a person decide, or name a nearer `target`.",
    ),
    "immutable": Meaning(
        "What can be changed is not enough beside `features`, which cannot be.",
        "Have a person decide, or name a nearer `target`.",
    ),
    "out_of_reach": Meaning(
        "What can be changed cannot be changed as far as would be needed.",
        "Name a nearer `target`, and go on from there.",
    ),
    "out_of_time": Meaning(
        "There was no time to look at everything, so there may be a way.",
        "Ask again with more of the fields `locked`: there is less to look at.",
    ),
}
"""By the `code` of one of an explanation's `binding`."""
