"""Numbers, plurals and levels as people write them in each language."""

from __future__ import annotations

from decimal import Decimal

import pytest

from alama.core.reasons.dictionary import (
    Language,
    Shown,
    number,
    plain_least,
    plain_most,
    plain_value,
    quantity,
    word,
)
from alama.platform.files.packaged import languages

LANGUAGES = languages()
ENGLISH, SWAHILI, FRENCH = LANGUAGES
NUMBERS = ("0", "1", "2", "1.5", "1000")


def anything(_: float) -> bool:
    return True


def test_nouns_agree_with_their_numbers(subtests: pytest.Subtests) -> None:
    for language, shown, expected in [
        (ENGLISH, Shown.MONTHS, "0 months|1 month|2 months|1.5 months|1,000 months"),
        (ENGLISH, Shown.DAYS, "0 days|1 day|2 days|1.5 days|1,000 days"),
        (
            ENGLISH,
            Shown.TRANSACTIONS,
            "0 transactions|1 transaction|2 transactions|1.5 transactions|1,000 transactions",
        ),
        (ENGLISH, Shown.TOP_UPS, "0 top-ups|1 top-up|2 top-ups|1.5 top-ups|1,000 top-ups"),
        (ENGLISH, Shown.DETAILS, "0 details|1 detail|2 details|1.5 details|1,000 details"),
        (SWAHILI, Shown.MONTHS, "miezi 0|mwezi 1|miezi 2|miezi 1.5|miezi 1,000"),
        (SWAHILI, Shown.DAYS, "siku 0|siku 1|siku 2|siku 1.5|siku 1,000"),
        (SWAHILI, Shown.TRANSACTIONS, "miamala 0|muamala 1|miamala 2|miamala 1.5|miamala 1,000"),
        (SWAHILI, Shown.TOP_UPS, "mara 0|mara 1|mara 2|mara 1.5|mara 1,000"),
        (SWAHILI, Shown.DETAILS, "taarifa 0|taarifa 1|taarifa 2|taarifa 1.5|taarifa 1,000"),
        (FRENCH, Shown.MONTHS, "0 mois|1 mois|2 mois|1,5 mois|1_000 mois"),
        (FRENCH, Shown.DAYS, "0 jour|1 jour|2 jours|1,5 jour|1_000 jours"),
        (
            FRENCH,
            Shown.TRANSACTIONS,
            "0 transaction|1 transaction|2 transactions|1,5 transaction|1_000 transactions",
        ),
        (FRENCH, Shown.TOP_UPS, "0 achat|1 achat|2 achats|1,5 achat|1_000 achats"),
        (
            FRENCH,
            Shown.DETAILS,
            (
                "0 renseignement|1 renseignement|2 renseignements|1,5 renseignement"
                "|1_000 renseignements"
            ),
        ),
    ]:
        with subtests.test(language=language, shown=shown, expected=expected):
            written = [quantity(language, shown, Decimal(count), None) for count in NUMBERS]
            assert "|".join(written).replace("\u00a0", " ").replace("\u202f", "_") == expected


def test_people_and_businesses_agree_too() -> None:
    written = [
        quantity(language, Shown.PARTIES, Decimal(count), None)
        for language in LANGUAGES
        for count in (1, 2)
    ]
    assert written == [
        "1 person or business",
        "2 people or businesses",
        "mtu au biashara 1",
        "watu au biashara 2",
        "1\u00a0personne ou entreprise",
        "2\u00a0personnes ou entreprises",
    ]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (ENGLISH, ["0", "1", "2", "1.5", "1,000", "1,234,567.89"]),
        (SWAHILI, ["0", "1", "2", "1.5", "1,000", "1,234,567.89"]),
        (FRENCH, ["0", "1", "2", "1,5", "1\u202f000", "1\u202f234\u202f567,89"]),
    ],
)
def test_numbers_have_the_marks_of_the_language(language: Language, expected: list[str]) -> None:
    assert [number(language, Decimal(each)) for each in (*NUMBERS, "1234567.890")] == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (ENGLISH, ["KES 12,500", "KES 0", "KES 1.50", "KES 1.25", "1,000"]),
        (SWAHILI, ["KES 12,500", "KES 0", "KES 1.50", "KES 1.25", "1,000"]),
        (
            FRENCH,
            ["12\u202f500\u00a0KES", "0\u00a0KES", "1,50\u00a0KES", "1,25\u00a0KES", "1\u202f000"],
        ),
    ],
)
def test_money_has_its_currency_and_whole_cents(language: Language, expected: list[str]) -> None:
    amounts = [("12500", "KES"), ("0", "KES"), ("1.5", "KES"), ("1.25", "KES"), ("1000", None)]
    written = [quantity(language, Shown.MONEY, Decimal(each), unit) for each, unit in amounts]
    assert written == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [(ENGLISH, "FCFA 5,000"), (FRENCH, "5\u202f000\u00a0FCFA")],
    ids=lambda it: getattr(it, "code", ""),
)
def test_a_currency_goes_by_the_name_that_people_know(language: Language, expected: str) -> None:
    assert quantity(language, Shown.MONEY, Decimal(5_000), "XOF") == expected


def test_shares_are_of_a_hundred_or_percent() -> None:
    share = plain_value(Shown.PERCENT, 0.285, anything)
    assert [quantity(each, Shown.PERCENT, share, None) for each in LANGUAGES] == [
        "28%",
        "asilimia 28",
        "28\u00a0%",
    ]
    assert [quantity(each, Shown.OF_HUNDRED, share, None) for each in LANGUAGES] == [
        "28 out of 100",
        "28 kati ya 100",
        "28 sur\u00a0100",
    ]


def test_a_value_has_the_digits_that_its_band_asks_for() -> None:
    assert plain_value(Shown.OF_HUNDRED, 0.1529, anything) == 15
    assert plain_value(Shown.OF_HUNDRED, 0.1529, lambda n: n >= 0.152) == Decimal("15.3")
    assert plain_value(Shown.OF_HUNDRED, 0.1529, lambda n: 0.152 <= n < 0.153) == Decimal("15.29")
    assert plain_value(Shown.MONEY, 18_234.56, anything) == 18_235
    assert plain_value(Shown.MONEY, 18_234.56, lambda n: n < 18_234.6) == Decimal("18234.56")
    assert plain_value(Shown.MONEY, 18.234, anything) == Decimal("18.23")
    assert plain_value(Shown.TRANSACTIONS, 12.34, anything) == Decimal("12.3")
    assert plain_value(Shown.MONTHS, 14.0, anything) == 14


def test_levels_are_round_and_on_the_right_side() -> None:
    assert plain_least(Shown.MONEY, 223_500.0, anything) == 224_000
    assert plain_least(Shown.MONEY, 223_500.0, lambda n: n < 223_800) == 223_500
    assert plain_most(Shown.MONEY, 223_500.0, anything) == 223_000
    assert plain_least(Shown.OF_HUNDRED, 0.153, anything) == 16
    assert plain_least(Shown.OF_HUNDRED, 0.153, lambda n: n < 0.16) == Decimal("15.3")
    assert plain_least(Shown.TRANSACTIONS, 12.65, anything) == 13
    assert plain_most(Shown.TRANSACTIONS, 0.0031, anything) == Decimal("0.0031")


@pytest.mark.parametrize("amount", [5e-324, 1e-7, 1e12, 1.7e308, 0.1 + 0.2])
def test_numbers_of_every_size_are_written_out(amount: float) -> None:
    value = plain_value(Shown.NUMBER, amount, lambda n: n == amount)
    assert float(number(ENGLISH, value).replace(",", "")) == amount
    assert "E" not in number(ENGLISH, value)


def test_words_are_compared_as_everywhere_and_quoted_as_they_came() -> None:
    assert word(ENGLISH, "device_type", " Smartphone ") == "a smartphone"
    assert word(SWAHILI, "loan_purpose", "medical") == "matibabu"
    assert word(FRENCH, "region", "Mombasa") == "«\u00a0Mombasa\u00a0»"
    assert word(ENGLISH, "region", "smartphone") == "“smartphone”"
