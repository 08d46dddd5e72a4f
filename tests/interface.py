"""The interface as it was given: what no test may be talked out of."""

TEN_FIELDS = [
    "score",
    "tier",
    "default_probability",
    "decision",
    "recommended_limit",
    "recommended_term_days",
    "recommended_apr",
    "shap_values",
    "request_id",
    "processing_ms",
]
