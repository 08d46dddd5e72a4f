"""The language in which a policy says when a rule applies: conditions over an application.

    mm_months < 3
    avg_outflow / avg_inflow > 1.3 and not (region in ["nairobi", "mombasa"])
    existing_repayments is missing or device_type == "basic_phone"

It has no calls, no loops and no names but those of the fields, so that a policy stays data.
"""
