"""What Schemathesis takes for a mistake of the service and is none. Runs in .venv-api."""

from __future__ import annotations

import os
import re
from typing import Any

import schemathesis  # type: ignore[import-not-found]  # installed where this runs
from hypothesis import strategies as st
from schemathesis.openapi.checks import (  # type: ignore[import-not-found]  # as above
    RejectedPositiveData,
)

SHAPE = re.compile("we_[0-9a-f]{28}")


def is_a_finding(_context: object, failure: Any, _case: object, response: Any) -> bool:
    # A key that came with another body before is refused, however valid the body: a schema has no
    # words for that. Only that refusal: a body that is refused for its fields stays a finding.
    key_reused = b'"code":"idempotency_key_reused"' in response.content
    # Which of the names that a tier may have are tiers, the policy of the key says, and no schema.
    no_tier = b'"detail":"Target names nothing to aim at.' in response.content
    # Which hosts are addresses that nothing is sent to, no pattern can say.
    no_url = b'"code":"invalid_url"' in response.content
    # Whether a time has passed, the clock says, and no schema.
    no_past = b'"detail":"the time is in the future' in response.content
    excused = key_reused or no_tier or no_url or no_past
    return not (excused and isinstance(failure, RejectedPositiveData))


def with_one_that_stands(context: Any, path_parameters: dict[str, Any] | None) -> Any:
    # What one request adds another deletes: left to chance, some operations would meet none.
    named = (path_parameters or {}).get("endpoint_id")
    if isinstance(named, str) and SHAPE.fullmatch(named) and context.operation.method != "delete":
        return {**(path_parameters or {}), "endpoint_id": os.environ["FUZZ_ENDPOINT"]}
    return path_parameters


schemathesis.hook("filter_failure")(is_a_finding)
schemathesis.hook("map_path_parameters")(with_one_that_stands)

# Files of any content are taken: whoever reads them says what is wrong.
for media_type in ("text/csv", "application/vnd.apache.parquet"):
    schemathesis.openapi.media_type(media_type, st.binary(min_size=1, max_size=500))
