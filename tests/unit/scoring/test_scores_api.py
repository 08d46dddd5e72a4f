"""GET /v1/scores, narrowed by what a caller wants of them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from alama.core.lending.policy import Decision
from alama.lenders import installation, keys
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.scoring.store import Scores
from tests.entries import DEMO, LIVE, NOON_US, an_entry
from tests.served import BODY, Service
from tests.stores import insert_scores

HOUR_US = 3_600 * 1_000_000
DECISIONS = (Decision.APPROVED, Decision.REVIEW, Decision.DECLINED)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Nine scores of a day, one an hour, of three tiers and decisions; and those of live mode."""
    home = tmp_path_factory.mktemp("home")
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(home)}))
    keys.add_lender(installed.registry, installed.clock, "umoja", "Umoja", "KES")
    for book in (DEMO, LIVE, Book("umoja", Mode.TEST)):
        installed.vault.ring(book.lender)
        insert_scores(
            installed.database,
            *(
                an_entry(
                    book, at_us=NOON_US + hour * HOUR_US, decision=DECISIONS[hour % 3]
                ).score._replace(tier="ABC"[hour // 3])
                for hour in range(9)
            ),
        )
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)
    yield Service(installed, key)
    installed.close()


def hours(service: Service, query: str) -> list[int]:
    """The hours of the day whose scores are listed, newest first, however many pages they take."""
    found, cursor = [], ""
    while True:
        received = service.ask(f"/v1/scores?limit=2&{query}{cursor}")
        assert received.status == 200, received.json()
        page = received.json()
        found += [_hour(one["created_at"]) for one in page["data"]]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def _hour(text: str) -> int:
    return round((datetime.fromisoformat(text).timestamp() * 1e6 - NOON_US) / HOUR_US)


def _at(hour: int) -> str:
    return datetime.fromtimestamp((NOON_US + hour * HOUR_US) / 1e6, UTC).isoformat()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"from={quote(_at(7))}", [8, 7]),
        (f"to={quote(_at(2))}", [1, 0]),
        (f"from={quote(_at(3))}&to={quote(_at(5))}", [4, 3]),
        ("from=2026-11-15T22:00:00%2B03:00&to=2026-11-15T23:00:00%2B03:00", [7]),
        ("from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z&tier=A", [2, 1, 0]),
        ("decision=DECLINED", [8, 5, 2]),
        ("decision=REVIEW&tier=B", [4]),
        ("tier=C", [8, 7, 6]),
        ("tier=Z", []),
        ("waiting=true&tier=A", [1]),
        ("waiting=true&decision=REVIEW", [7, 4, 1]),
        ("applicant_ref=nobody", []),
    ],
)
def test_scores_are_listed_where_every_filter_holds(
    service: Service, query: str, expected: list[int]
) -> None:
    assert hours(service, query) == expected


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("from=", "from"),
        ("from=yesterday", "from"),
        ("from=2026-11-15", "from"),
        ("to=2026-11-15T10:00:00", "to"),
        ("to=2026-11-15T10:00:00+03:00", "%2B"),
        ("to=2026-02-30T10:00:00Z", "to"),
        ("from=2026-11-15T10:00:00Z&to=2026-11-15T10:00:00Z", "before to"),
        ("decision=approved", "APPROVED, REVIEW, DECLINED"),
        ("decision=", "decision"),
        ("tier=", "tier"),
        ("tier=A%20B", "tier"),
        ("tier=123456789", "tier"),
        ("waiting=true&decision=DECLINED", "waiting=true"),
        ("applicant_ref=", "applicant_ref"),
        ("applicant_ref=%00", "applicant_ref"),
        (f"applicant_ref={'x' * 65}", "applicant_ref"),
        ("applicant_ref=jane@example.org", "applicant_ref"),
        ("applicant_ref=0712345678", "applicant_ref"),
        ("applicantref=customer-7", "nearest is applicant_ref"),
    ],
)
def test_a_filter_that_breaks_its_rule_is_named_and_not_repeated(
    service: Service, query: str, named: str
) -> None:
    received = service.ask(f"/v1/scores?{query}")
    problem = received.json()
    assert (received.status, problem["code"]) == (400, "invalid_parameter")
    assert named.casefold() in problem["detail"].casefold()
    for value in ("jane", "0712345678", "yesterday"):
        assert value not in problem["detail"]


def test_the_scores_of_an_applicant_are_found_by_what_the_lender_calls_them(
    service: Service,
) -> None:
    def scored(reference: str) -> str:
        body = BODY[:-1] + f', "applicant_ref": "{reference}"}}'.encode()
        request_id: str = service.ask("/v1/score", body=body).json()["request_id"]
        return request_id

    first, other, second = scored("customer-7"), scored("customer-8"), scored(" customer-7 ")

    def listed(reference: str) -> list[str]:
        page = service.ask(f"/v1/scores?applicant_ref={quote(reference)}").json()
        return [one["request_id"] for one in page["data"]]

    assert listed("customer-7") == listed(" customer-7") == [second, first]
    assert listed("customer-8") == [other]
    assert listed("CUSTOMER-7") == []
    umoja, _ = keys.issue(
        service.installed.registry,
        service.installed.clock,
        service.installed.pepper,
        Book("umoja", Mode.TEST),
    )
    elsewhere = Service(service.installed, umoja)
    assert elsewhere.ask("/v1/scores?applicant_ref=customer-7").json()["data"] == []
    assert len(Scores.at(service.installed).page(DEMO, None, 100)) == 12
