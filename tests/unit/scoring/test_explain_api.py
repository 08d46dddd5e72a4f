"""POST /v1/explain: the numbers of a score, and every question that cannot be answered refused."""

import json
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from alama.app import examples, openapi
from alama.platform.files.packaged import LANGUAGES
from alama.scoring.api import LIMIT_OF_WAYS
from alama.scoring.explaining import WAITING_MAX
from tests.exchanges import Received
from tests.served import BODY, Service

FIELDS = [
    *("score", "tier", "default_probability", "decision"),
    *("recommended_limit", "recommended_term_days", "recommended_apr", "rules"),
    *("counter_offers", "base_score", "shap_values", "reasons"),
    *("recourse", "counterfactuals", "binding", "notice", "language", "target"),
    *("model", "policy", "request_id", "processing_ms"),
]
POOR = json.dumps(
    {
        "mobile_money_months": 5,
        "avg_inflow": 9_500,
        "stability_score": 0.2,
        "airtime_regularity": 0.3,
        "avg_balance": 150.5,
        "requested_amount": 9_000,
        "region": "Zq7marked",
    }
).encode()


def refusal(received: Received) -> tuple[int, str]:
    return received.status, received.json()["code"]


def explained(service: Service, body: bytes = POOR, query: str = "") -> dict[str, Any]:
    received = service.ask(f"/v1/explain{query}", body=body)
    assert received.status == 200, received.body
    reply: dict[str, Any] = received.json()
    return reply


@pytest.mark.parametrize("body", [BODY, POOR], ids=["compact", "more"])
def test_it_says_what_a_score_says_in_the_same_numbers(service: Service, body: bytes) -> None:
    reply = explained(service, body)
    scored = service.ask("/v1/score?expand=base_score,model,policy,reasons,offer", body=body).json()
    scored["rules"] = scored.pop("offer")["rules"]
    assert list(reply) == FIELDS
    shared = reply.keys() & scored.keys() - {"shap_values", "request_id", "processing_ms"}
    assert {name: reply[name] for name in shared} == {name: scored[name] for name in shared}
    assert {"decision", "recommended_apr", "rules"} <= shared
    points = [{k: one[k] for k in ("feature", "contribution")} for one in reply["shap_values"]]
    assert points == scored["shap_values"]


def test_the_offer_is_written_digit_by_digit_as_a_score_writes_it(service: Service) -> None:
    explained_body = service.ask("/v1/explain", body=BODY).body
    scored_body = service.ask("/v1/score", body=BODY).body
    offer = re.compile(rb'"decision":.*?"recommended_apr":[^,]*,')
    assert offer.findall(explained_body)[0] == offer.findall(scored_body)[0]


def test_every_rule_that_objected_is_named_beside_those_that_decided(service: Service) -> None:
    spending = json.dumps({**json.loads(POOR), "avg_outflow": 30_000}).encode()
    reply = explained(service, spending)
    assert reply["rules"] == ["tier_below_cutoff", "outflow_above_inflow"]
    assert "outflow_above_inflow" not in {reason["code"] for reason in reply["reasons"]}
    assert explained(service, BODY)["rules"] == []


def test_values_are_those_that_were_sent_under_the_names_that_they_were_sent_by(
    service: Service,
) -> None:
    values = {one["feature"]: one["value"] for one in explained(service)["shap_values"]}
    sent = json.loads(POOR)
    assert {name: values[name] for name in sent} == sent
    assert all(value is None for name, value in values.items() if name not in sent)


def test_whole_numbers_are_written_without_decimals(service: Service) -> None:
    received = service.ask("/v1/explain", body=POOR)
    assert b'"value":9500,' in received.body
    assert b'"value":150.5,' in received.body


def test_it_is_for_the_caller_alone(service: Service) -> None:
    received = service.ask("/v1/explain", body=POOR)
    assert received.headers["cache-control"] == "no-store"
    assert received.headers["request-id"] == received.json()["request_id"]
    assert "ratelimit" in received.headers


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_speaks_the_language_that_is_asked_for(service: Service, language: str) -> None:
    reply = explained(service, query=f"?language={language}")
    assert reply["language"] == language
    english = explained(service)
    assert (reply["reasons"] == english["reasons"]) == (language == "en")
    assert [one["code"] for one in reply["reasons"]] == [one["code"] for one in english["reasons"]]


def test_a_goal_that_is_met_already_needs_no_advice(service: Service) -> None:
    reply = explained(service, query="?target=300")
    assert (reply["recourse"], reply["target"]) == ("already_met", "300")
    assert (reply["counterfactuals"], reply["binding"], reply["notice"]) == ([], [], None)


def test_where_nothing_helps_it_says_what_binds_by_the_callers_own_names(
    service: Service,
) -> None:
    first, *others = json.loads(POOR)
    reply = explained(service, query=f"?locked={first}&target=850&locked={','.join(others)}")
    assert (reply["recourse"], reply["counterfactuals"]) == ("no_recourse", [])
    assert reply["binding"]
    for bound in reply["binding"]:
        assert bound["text"]
        assert not {"mm_months", "balance_stability"} & set(bound["features"])


@pytest.mark.parametrize(
    ("query", "rule"),
    [
        (
            "target=Zq7",
            "Ask for APPROVED, for a tier (A, B, C, D, E), or for a score of 300 to 850.",
        ),
        ("target=", "Ask for APPROVED"),
        ("target=approved", "Ask for APPROVED"),
        ("target=DECLINED", "Ask for APPROVED"),
        ("target=851", "300 to 850"),
        ("target=700&target=800", "The parameter target stands twice."),
        ("limit=0", "Limit must be a whole number from 1 to 5."),
        ("limit=6", "from 1 to 5"),
        ("limit=", "from 1 to 5"),
        ("limit=Zq7", "from 1 to 5"),
        ("locked=Zq7%2B", "The parameter locked names what is no field. The fields are mm_months,"),
        ("locked=avg balance", "names what is no field. The nearest is avg_balance; the fields"),
        (f"locked={'Zq7' * 14}", "The parameter locked names what is no field."),
        ("language=Zq7", "Language knows en, sw, fr."),
        ("language=", "Language knows en, sw, fr."),
        ("expand=model", "It knows target, ways, limit, locked, language."),
        ("tarqet=A", "the nearest is target"),
    ],
)
def test_a_parameter_that_breaks_its_rule_is_refused_by_name(
    service: Service, query: str, rule: str
) -> None:
    received = service.ask(f"/v1/explain?{query}", body=POOR)
    assert refusal(received) == (400, "invalid_parameter")
    assert rule in received.json()["detail"]
    assert "Zq7" not in received.json()["detail"], "no value is repeated"


@pytest.mark.parametrize(
    ("locked", "said"),
    [
        ("avg_balanse", "names avg_balanse, which is no field. The nearest is avg_balance; the"),
        ("region, avg_balanse ,mm_months", "names avg_balanse, which is no field. The nearest"),
        ("colour", "names colour, which is no field. The fields are mm_months, "),
    ],
)
def test_a_lock_on_what_is_no_field_is_refused_by_its_name(
    service: Service, locked: str, said: str
) -> None:
    received = service.ask(f"/v1/explain?locked={quote(locked)}", body=POOR)
    assert refusal(received) == (400, "invalid_parameter")
    assert received.json()["detail"].startswith(f"The parameter locked {said}")


@pytest.mark.parametrize(
    ("locked", "same"),
    [
        ("", None),
        (" ", None),
        (",", None),
        (" counterparties,\tmm_months ", "counterparties,mm_months"),
        ("counterparties,,mm_months,", "counterparties,mm_months"),
    ],
)
def test_space_around_locked_names_and_empty_names_count_for_nothing(
    service: Service, locked: str, same: str | None
) -> None:
    def answer(query: str) -> tuple[Any, Any]:
        reply = explained(service, examples.DECLINED, query)
        return reply["counterfactuals"], reply["binding"]

    free = answer("")
    assert answer(f"?locked={quote(locked)}") == (answer(f"?locked={same}") if same else free)
    assert not same or answer(f"?locked={same}") != free


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"[]", (400, "malformed_json")),
        (b"{}", (422, "invalid_application")),
        (POOR.ljust(70_000), (413, "body_too_large")),
    ],
    ids=["no object", "no fields", "too large"],
)
def test_a_body_is_read_as_that_of_a_score(
    service: Service, body: bytes, expected: tuple[int, str]
) -> None:
    assert refusal(service.ask("/v1/explain", body=body)) == expected
    assert refusal(service.ask("/v1/score", body=body)) == expected


def test_only_a_body_is_explained(service: Service) -> None:
    received = service.ask("/v1/explain")
    assert refusal(received) == (405, "method_not_allowed")
    assert received.headers["allow"] == "POST"


def test_a_prefix_changes_nothing(service: Service) -> None:
    plain, prefixed = (
        service.ask(f"{prefix}/v1/explain", body=POOR).json() for prefix in ("", "/api")
    )
    for name in ("request_id", "processing_ms"):
        del plain[name], prefixed[name]
    assert plain == prefixed


# ---------------------------------------------------------------------------------- the page


PAGE = (Path(__file__).parents[3] / "docs" / "explaining.md").read_text("utf-8")


def shown_as(language: str) -> str:
    """The first block of a language in the section about HTTP."""
    _, _, section = PAGE.partition("## Over HTTP")
    return section.partition(f"```{language}\n")[2].partition("```")[0]


def is_part_of(shown: Any, said: Any) -> bool:
    """Whether a value is shown as it is, or shortened: fewer members, fewer elements."""
    if isinstance(shown, dict):
        return all(is_part_of(value, said[name]) for name, value in shown.items())
    if isinstance(shown, list):
        return all(is_part_of(*pair) for pair in zip(shown, said, strict=False))
    return bool(shown == said)


def test_the_page_shows_what_is_answered_to_the_request_on_it() -> None:
    request = shown_as("sh").partition("-d '")[2].partition("'")[0]
    assert json.loads(request) == json.loads(examples.DECLINED)
    said = examples.Replies().explained(examples.DECLINED)
    assert is_part_of(json.loads(shown_as("json")), said)


def test_the_page_names_every_parameter_and_its_default() -> None:
    for name, default in (("target", "`APPROVED`"), ("ways", "3"), ("language", "`en`")):
        assert f"| `{name}` | {default} |" in PAGE
    assert f"when {WAITING_MAX} are under way" in PAGE


# ------------------------------------------------------------------------------- what is to go

GONE_ONE_DAY = ("deprecation", "sunset", "link")
VERSIONS = (Path(__file__).parents[3] / "docs" / "versions.md").read_text("utf-8")


def test_an_old_spelling_does_the_same_and_says_until_when(service: Service) -> None:
    new = service.ask("/v1/explain?ways=1", body=BODY)
    old = service.ask("/v1/explain?limit=1", body=BODY)
    assert new.status == old.status == 200
    assert len(new.json()["counterfactuals"]) == len(old.json()["counterfactuals"])
    assert [name for name in GONE_ONE_DAY if name in new.headers] == []
    since = int(old.headers["deprecation"].removeprefix("@"))
    until = parsedate_to_datetime(old.headers["sunset"])
    assert until - datetime.fromtimestamp(since, UTC) > timedelta(days=365)
    assert 'rel="deprecation"' in old.headers["link"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("ways=0", "Ways must be a whole number from 1 to 5"),
        ("limit=6", "Limit must be a whole number from 1 to 5"),
        ("ways=1&limit=1", "Limit is the old spelling of ways"),
    ],
)
def test_a_number_of_ways_that_cannot_be_is_refused_as_it_was_spelled(
    service: Service, query: str, said: str
) -> None:
    received = service.ask(f"/v1/explain?{query}", body=BODY)
    assert (received.status, received.json()["code"]) == (400, "invalid_parameter")
    assert received.json()["detail"].startswith(said)


def test_the_page_and_the_document_name_all_that_is_to_go() -> None:
    document = openapi.document()
    told = {
        f"`{one['name']}` of `{method.upper()} {path}`"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for pointer in operation.get("parameters", ())
        if (one := document["components"]["parameters"][pointer["$ref"].split("/")[-1]]).get(
            "deprecated"
        )
    }
    rows = re.findall(r"^\| (`.*?` of `.*?`) \| .* \| (\S+) \| (\S+) \|$", VERSIONS, re.MULTILINE)
    assert rows == [
        (name, LIMIT_OF_WAYS.since.isoformat(), LIMIT_OF_WAYS.sunset.isoformat()) for name in told
    ]
    for header in LIMIT_OF_WAYS.headers:
        value = header[1].decode()
        assert f": {value}`" in VERSIONS


def test_nothing_of_the_first_interface_is_to_go() -> None:
    document = openapi.document()
    for path, method in (("/v1/score", "post"), ("/v1/explain", "post"), ("/v1/health", "get")):
        assert "deprecated" not in document["paths"][path][method]
    for name in ("Application", "ScoreReply"):
        fields = document["components"]["schemas"][name]["properties"].values()
        assert not any(field.get("deprecated") for field in fields)
