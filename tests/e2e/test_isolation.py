"""Two lenders, two modes: no key reads or touches anything of another book, by any route."""

from itertools import count, product
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alama.platform import clock
from alama.platform.book import Book, Mode
from alama.scoring.store import Scores
from tests.e2e.service import COMPACT, Service
from tests.lending import open_live
from tests.tries import tries

SCORES_EACH = 4

_numbers = count()


class Shelf(NamedTuple):
    """A book with scores in it, and what its lender knows of them."""

    book: Book
    key: str
    request_ids: list[str]
    idempotency_keys: list[str]


@pytest.fixture(scope="module")
def shelves(service: Service) -> list[Shelf]:
    lenders = [f"lender-{next(_numbers)}" for _ in range(2)]
    for lender in lenders:
        service.lender(lender)
    books = [Book(lender, mode) for lender, mode in product(lenders, Mode)]
    for book in books:
        if book.mode is Mode.LIVE:
            open_live(service.installed.registry, book)
    return [_filled(service, book) for book in books]


def _filled(service: Service, book: Book) -> Shelf:
    key = service.key(book)
    orders = [f"{book.lender}-{book.mode}-{number}" for number in range(SCORES_EACH)]
    replies = [service.score(_body(book), key=key, idempotency_key=order) for order in orders]
    return Shelf(book, key, [reply.json()["request_id"] for reply in replies], orders)


def _body(book: Book) -> dict[str, Any]:
    """What this book's applicants say: a mark that must never be seen elsewhere."""
    return {**COMPACT, "applicant_ref": f"{book.lender}-{book.mode}-applicant"}


places = st.integers(0, 3)
numbers = st.integers(0, SCORES_EACH - 1)
spellings = st.sampled_from(
    [
        "{}",
        "{}%20",
        "%20{}",
        "{}%00",
        "{}/",
        "./{}",
        "../scores/{}",
        "{}?mode=live",
        "%2e/{}",
        "{},",
    ]
)
prefixes = st.sampled_from(["", "/api"])
paths = st.builds("{}/v1/scores/{}".format, prefixes, spellings)


def require_nothing_of(victim: Shelf, reply: httpx.Response) -> None:
    assert f"{victim.book.lender}-{victim.book.mode}-applicant" not in reply.text
    assert reply.status_code < 500


@tries(60)
@given(places, places, numbers, paths, st.sampled_from(["GET", "HEAD"]))
def test_a_score_of_another_book_is_not_found_however_its_id_is_guessed(
    service: Service,
    shelves: list[Shelf],
    thief: int,
    victim: int,
    number: int,
    path: str,
    method: str,
) -> None:
    assume(thief != victim)
    guess = path.format(shelves[victim].request_ids[number])
    reply = service.send(method, guess, headers=service.credentials(shelves[thief].key))
    assert reply.status_code in {404, 400}
    require_nothing_of(shelves[victim], reply)


@tries(30)
@given(places, places, numbers, st.integers(1, 100), prefixes)
def test_a_list_holds_one_book_alone_whosever_cursor_it_starts_from(
    service: Service,
    shelves: list[Shelf],
    thief: int,
    victim: int,
    number: int,
    limit: int,
    prefix: str,
) -> None:
    cursor = shelves[victim].request_ids[number]
    path = f"{prefix}/v1/scores?limit={limit}&cursor={cursor}"
    reply = service.get(path, key=shelves[thief].key)
    listed = [line["request_id"] for line in reply.json()["data"]]
    older = [own for own in _own(service, shelves[thief]) if own < cursor]
    assert listed == older[:limit]


def _own(service: Service, shelf: Shelf) -> list[str]:
    """Everything a book holds, newest first, as the database and not the service says."""
    return [row.request_id for row in Scores.at(service.installed).page(shelf.book, None, 1_000)]


@tries(25)
@given(places, places, numbers)
def test_an_idempotency_key_of_another_book_opens_nothing_and_blocks_nothing(
    service: Service, shelves: list[Shelf], thief: int, victim: int, number: int
) -> None:
    assume(thief != victim)
    order = shelves[victim].idempotency_keys[number]
    body = _body(shelves[thief].book)
    reply = service.score(body, key=shelves[thief].key, idempotency_key=order)
    assert reply.status_code == 200
    assert reply.json()["request_id"] not in _own(service, shelves[victim])
    assert reply.json()["request_id"] in _own(service, shelves[thief])
    again = service.score(
        _body(shelves[victim].book), key=shelves[victim].key, idempotency_key=order
    )
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["request_id"] == shelves[victim].request_ids[number]


@tries(25)
@given(places, prefixes)
def test_an_explanation_adds_nothing_to_any_book_and_tells_of_none(
    service: Service, shelves: list[Shelf], asker: int, prefix: str
) -> None:
    before = [_own(service, shelf) for shelf in shelves]
    reply = service.send(
        "POST",
        f"{prefix}/v1/explain",
        headers=service.credentials(shelves[asker].key),
        json=_body(shelves[asker].book),
    )
    assert reply.status_code == 200
    assert [_own(service, shelf) for shelf in shelves] == before
    for shelf in shelves:
        require_nothing_of(shelf, reply)
        found = service.get(f"/v1/scores/{reply.json()['request_id']}", key=shelf.key)
        assert found.status_code == 404


def test_every_key_reads_all_of_its_own(service: Service, shelves: list[Shelf]) -> None:
    for shelf in shelves:
        for request_id in shelf.request_ids:
            record = service.get(f"/v1/scores/{request_id}", key=shelf.key).json()
            assert record["application"] == _body(shelf.book)
            assert record["mode"] == shelf.book.mode


def test_a_revoked_or_unknown_key_reads_nothing(service: Service, shelves: list[Shelf]) -> None:
    text, key = service.issue(shelves[0].book)
    service.installed.registry.revoke_key(key.id, clock.wall_us())
    for path in ("/v1/scores", f"/v1/scores/{shelves[0].request_ids[0]}"):
        for bad in (text, shelves[0].key[:-1] + "_", shelves[0].key.swapcase()):
            assert service.get(path, key=bad).status_code == 401
    for bad in (text, shelves[0].key.swapcase()):
        assert service.explain(key=bad).status_code == 401
