"""Recourse: the cheapest change of at most three fields that turns a decision, proven.

`find_recourse` is the door; `ReadyRecourse` is what it needs, made once for a model and a policy.
The proof speaks of real values (`values`), one for each piece of a field in which neither the card
nor the policy changes its mind (`turning`), within what an applicant can reach (`additive`). Of all
sets of up to three of them (`search`) those that may work are judged by the whole assessment.
"""
