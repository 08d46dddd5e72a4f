"""How numbers and days are written in files that people and spreadsheets make.

A value may be read in several ways: 1,234 is twelve hundred or little more than one, 03/04/2026 is
in March or in April. So each text gives all its readings, and a column is read in one way only
where its own values leave no other. What stays open is asked, never guessed.
No message repeats a value.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from typing import Final, TypeAlias

Cell: TypeAlias = "str | int | float | bool | datetime | date | object | None"

POINT: Final = "point"
COMMA: Final = "comma"
MARKS: Final = {POINT: ".", COMMA: ","}

DAY_FIRST: Final = "day-first"
MONTH_FIRST: Final = "month-first"
YEAR_FIRST: Final = "year-first"
ORDERS: Final = (DAY_FIRST, MONTH_FIRST, YEAR_FIRST)

SYSTEMS: Final = {"1900": date(1899, 12, 30), "1904": date(1904, 1, 1)}
"""From which day spreadsheets count, by the name of their date system."""

MARKERS: Final = frozenset(("na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", ".", "#null!"))
"""A result that a spreadsheet could not work out, such as #REF!, is none: its row is told."""

DASHES: Final = frozenset(("-", "--", "\N{EN DASH}", "\N{EM DASH}", "\N{MINUS SIGN}"))
"""What stands for a missing number in one file, and for zero in the next: accountants write so."""

_SPACES: Final = re.compile(r"[\u00a0\u1680\u2000-\u200f\u202a-\u202f\u205f-\u2069\u3000\ufeff\t]+")
_SIGNS: Final = str.maketrans(
    {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\u2010": "-", "\u2011": "-"}
    | dict.fromkeys("\u2019\u02bc\u00b4`\u2032", "'")
)

_SHILLINGS: Final = frozenset(("KES", "UGX", "TZS", "SOS"))
_FRANCS: Final = frozenset(("XOF", "XAF", "RWF", "BIF", "GNF", "CDF", "KMF", "DJF", "CHF"))
_CFA: Final = frozenset(("XOF", "XAF"))
_DOLLARS: Final = frozenset(("USD", "NAD", "LRD", "ZWL", "AUD", "CAD"))
_CODES: Final = [
    "KES",
    "UGX",
    "TZS",
    "RWF",
    "BIF",
    "GHS",
    "NGN",
    "XOF",
    "XAF",
    "ZAR",
    "ZMW",
    "MWK",
    "MZN",
    "ETB",
    "EGP",
    "MAD",
    "USD",
    "EUR",
    "GBP",
    "INR",
    "CDF",
    "SLE",
    "SLL",
    "LRD",
    "GMD",
    "GNF",
    "MGA",
    "BWP",
    "NAD",
    "AOA",
    "SOS",
    "SSP",
    "SDG",
    "DJF",
    "KMF",
    "MUR",
    "SZL",
    "LSL",
    "TND",
    "DZD",
    "CHF",
    "PHP",
    "IDR",
    "PKR",
    "BDT",
]
CURRENCIES: Final[dict[str, frozenset[str]]] = {
    **{code.casefold(): frozenset((code,)) for code in _CODES},
    **dict.fromkeys(("ksh", "kshs", "kes"), frozenset(("KES",))),
    **dict.fromkeys(("ush", "ushs", "shu"), frozenset(("UGX",))),
    **dict.fromkeys(("tsh", "tshs", "tzsh"), frozenset(("TZS",))),
    **dict.fromkeys(("sh", "shs", "/=", "/-", "=", "shilingi", "shillings"), _SHILLINGS),
    **dict.fromkeys(("fcfa", "cfa", "f cfa"), _CFA),
    **dict.fromkeys(("f", "fr", "frs", "francs"), _FRANCS),
    **dict.fromkeys(("frw", "rwf"), frozenset(("RWF",))),
    **dict.fromkeys(("fbu",), frozenset(("BIF",))),
    **dict.fromkeys(("gh\u20b5", "\u20b5", "ghc", "cedis"), frozenset(("GHS",))),
    **dict.fromkeys(("\u20a6", "naira"), frozenset(("NGN",))),
    **dict.fromkeys(("us$", "u$"), frozenset(("USD",))),
    "$": _DOLLARS,
    "\u20ac": frozenset(("EUR",)),
    "euros": frozenset(("EUR",)),
    "\u00a3": frozenset(("GBP", "EGP", "SSP", "SDG")),
    "\u20b9": frozenset(("INR",)),
    "r": frozenset(("ZAR",)),
    "rand": frozenset(("ZAR",)),
    "birr": frozenset(("ETB",)),
    "zk": frozenset(("ZMW",)),
    "mk": frozenset(("MWK",)),
}
"""The words for money, and what they may stand for."""

_MONEY: Final = "|".join(sorted(map(re.escape, CURRENCIES), key=len, reverse=True))
_NUMBER: Final = re.compile(
    rf"""
    (?P<open>\()?\s*+
    (?P<sign>[+-])?\s*+
    (?:(?P<before>{_MONEY})\.?\s*+)?
    (?P<sign_after>[+-])?\s*+
    (?P<body>[0-9][0-9.,'\ ]*+|[.,][0-9]+)
    (?P<power>[eE][+-]?[0-9]{{1,3}})?
    (?P<trailing>-)?\s*+
    (?P<percent>%)?\s*+
    (?:(?P<after>{_MONEY})\.?)?\s*+
    (?P<close>\))?\s*+
    (?P<slash>/=|/-)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""No blank is ever given back: a cell of blanks would be parted among all these in every way."""

LETTERS_MAX: Final = 80
"""A text that is longer is no number and no day, and is not looked at: that would take long."""

_SHORTENED: Final = re.compile(r"[+-]?[0-9](?:[.,][0-9]{1,14})?E\+[0-9]{2,3}")
"""How a spreadsheet shows a number that is too wide for its column: its last digits are lost."""


def tidy(text: str) -> str:
    """Give a text without unusual spaces and signs, and without space around it."""
    if text.isascii() and "\t" not in text and "`" not in text:
        return text.strip()  # nearly every cell, and most of the time of a large file
    return _SPACES.sub(" ", text).translate(_SIGNS).strip()


def is_empty(cell: Cell) -> bool:
    """Say whether nothing stands in a cell."""
    if not isinstance(cell, str):
        return cell is None
    return not (cell[:1].isalnum() or tidy(cell))


def is_marker(text: str) -> bool:
    """Say whether a text stands for a value that is missing."""
    return text.casefold() in MARKERS


_SYMBOLS: Final = re.compile("[$\u20ac\u00a3\u20a6\u20b5\u20b9]|[^\\W\\d_]{3,}")


def currencies_in(text: str) -> frozenset[str] | None:
    """Give what the words for money in a name or a format may stand for; None: it has none."""
    told = [CURRENCIES.get(word.casefold()) for word in _SYMBOLS.findall(text)]
    named = [meant for meant in told if meant is not None]
    return frozenset.intersection(*named) if named else None


# ----------------------------------------------------------------------------------- numbers


@dataclass(frozen=True, slots=True)
class Amount:
    """What a text may mean as a number, by each decimal mark; None: by that mark it is none.

    `grouped` and `wide` tell whether its thousands are set apart, and whether they could have been.
    """

    by_point: float | None
    by_comma: float | None
    percent: bool = False
    money: frozenset[str] | None = None
    grouped: str = ""
    wide: bool = False
    shortened: bool = False

    @property
    def open(self) -> bool:
        """Say whether it is another number by either mark."""
        return (
            self.by_point is not None
            and self.by_comma is not None
            and self.by_point != self.by_comma
        )

    def by(self, mark: str) -> float | None:
        return self.by_point if mark == POINT else self.by_comma


def _of_groups(mark: str, group: str) -> re.Pattern[str]:
    one, between = re.escape(mark), re.escape(group)
    return re.compile(
        rf"([1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+|[1-9][0-9]?(?:{between}[0-9]{{2}})+{between}"
        rf"[0-9]{{3}})(?:{one}([0-9]+))?"
    )


_PLAIN: Final = {m: re.compile(rf"([0-9]*)(?:{re.escape(m)}([0-9]*))?") for m in ".,"}
_GROUPED: Final = {
    mark: [(group, _of_groups(mark, group)) for group in (*(set(".,") - {mark}), " ", "'")]
    for mark in ".,"
}
_WIDE: Final = 1000.0


def amount_of(text: str) -> Amount | None:
    """Read a text as a number in every way that it can be read; None: in none."""
    text = tidy(text)
    found = _NUMBER.fullmatch(text) if len(text) <= LETTERS_MAX else None
    if found is None or (found["open"] is None) != (found["close"] is None):
        return None
    if len([s for s in ("sign", "sign_after", "trailing", "open") if found[s]]) > 1:
        return None
    body = found["body"].rstrip(" ")
    by_point, by_comma = _body(body, "."), _body(body, ",")
    if by_point is None and by_comma is None:
        return None
    factor = -1.0 if "-" in (found["sign"], found["sign_after"], found["trailing"]) else 1.0
    factor = -1.0 if found["open"] else factor
    money = [
        CURRENCIES[w.casefold()] for w in (found["before"], found["after"], found["slash"]) if w
    ]
    meant = frozenset.intersection(*money) if money else None
    told = by_point or by_comma
    assert told is not None
    return Amount(
        None if by_point is None else _scaled(by_point[0], found, factor),
        None if by_comma is None else _scaled(by_comma[0], found, factor),
        percent=found["percent"] is not None,
        money=meant,
        grouped=(by_point or ("", ""))[1] or (by_comma or ("", ""))[1],
        wide=abs(told[0]) >= _WIDE,
        shortened=_SHORTENED.fullmatch(text) is not None,
    )


def _body(body: str, mark: str) -> tuple[float, str] | None:
    """Give a number by this decimal mark, and what sets its thousands apart."""
    plain = _PLAIN[mark].fullmatch(body)
    if plain is not None and (plain[1] or plain[2]):
        return float(f"{plain[1] or 0}.{plain[2] or 0}"), ""
    for group, pattern in _GROUPED[mark]:
        found = pattern.fullmatch(body)
        if found is not None:
            return float(f"{found[1].replace(group, '')}.{found[2] or 0}"), group
    return None


def _scaled(value: float, found: re.Match[str], factor: float) -> float:
    power = int(found["power"][1:]) if found["power"] else 0
    # By way of text: 62 hundredths are 0.62, and 0.62 is what float("0.62") gives.
    return factor * float(f"{value!r}e{power - 2 if found['percent'] else power}")


def bare(value: float) -> str:
    """Write a number as every reader knows it."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)  # noqa: PLR2004 - beyond, doubles skip whole numbers


# ----------------------------------------------------------------------------------- days

_MONTH_NAMES: Final = {
    1: "jan january janv janvier januari",
    2: "feb february fev fevr fevrier februari",
    3: "mar march mars machi mac",
    4: "apr april avr avril aprili",
    5: "may mai mei",
    6: "jun june juin juni",
    7: "jul july juil juillet julai",
    8: "aug august aout agosti ago",
    9: "sep sept september septembre septemba",
    10: "oct october octobre oktoba okt",
    11: "nov november novembre novemba",
    12: "dec december decembre desemba des",
}
_MONTHS: Final = {name: n for n, names in _MONTH_NAMES.items() for name in names.split()}
_TIME: Final = re.compile(
    r"[T ,]*(?P<hour>[0-9]{1,2})[:h](?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})"
    r"(?:[.,][0-9]+)?)?\s*(?:(?P<half>[AP])\.?M\.?)?\s*"
    r"(?P<zone>Z|UTC|EAT|CAT|WAT|GMT|[+-][0-9]{2}:?[0-9]{2})?",
    re.IGNORECASE,
)
_ZONES: Final = {"Z": 0, "UTC": 0, "GMT": 0, "WAT": 1, "CAT": 2, "EAT": 3}
_NOON: Final = 12
_YEAR_FIRST: Final = re.compile(r"([0-9]{4})([-/. ])([0-9]{1,2})\2([0-9]{1,2})")
_YEAR_LAST: Final = re.compile(r"([0-9]{1,2})([-/. ])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})")
_NAMED: Final = re.compile(
    r"([0-9]{1,2})(?:st|nd|rd|th|er)?[-/. ]*([^\W\d_]{3,10})[-/., ]*([0-9]{4}|[0-9]{2})"
)
_NAME_FIRST: Final = re.compile(
    r"([^\W\d_]{3,10})[-/. ]*([0-9]{1,2})(?:st|nd|rd|th)?(?:[-/ ]|, ?)([0-9]{4})"
)
_YEAR_NAME: Final = re.compile(r"([0-9]{4})[-/. ]([^\W\d_]{3,10})[-/. ]([0-9]{1,2})")
_WEEKDAY: Final = re.compile(
    r"^(?:mon|tue|wed|thu|fri|sat|sun|lun|mar|mer|jeu|ven|sam|dim)[a-z]*[., ]+(?=[0-9])",
    re.IGNORECASE,
)
_SERIAL: Final = re.compile(r"([1-7][0-9]{4})(?:[.,][0-9]+)?")

_YEARS: Final = range(1980, 2100)
_SERIALS: Final = range(29_221, 73_051)
"""The serial numbers of those years, as Excel counts."""


@dataclass(frozen=True, slots=True)
class DayRead:
    """What a text may mean as a day: by the order of its parts, and how it is shaped.

    `ends` are its first and last parts where either may be the year.
    """

    shape: str
    by: dict[str, date] = field(default_factory=dict)
    serial: int | None = None
    ends: tuple[str, str] | None = None
    dashed: bool = False


ISO: Final = "iso"
NAMED: Final = "named"
PARTS: Final = "parts"
DIGITS: Final = "digits"
SERIAL: Final = "serial"
TYPED: Final = "typed"


def day_of(text: str) -> DayRead | None:
    """Read a text as a day in every way that it can be read; None: in none."""
    text, _ = _parted(tidy(text))
    if len(text) > LETTERS_MAX:
        return None
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day = int(found[1]), int(found[3]), int(found[4])
        shape = ISO
        by = _orders({YEAR_FIRST: (year, month, day), "year-day": (year, day, month)})
        if YEAR_FIRST in by:
            by.pop("year-day", None)
        return DayRead(shape, by) if by else None
    if found := _YEAR_LAST.fullmatch(text):
        return _of_parts(found[1], found[3], found[4], found[2])
    if len(text) == 8 and text.isascii() and text.isdigit():  # noqa: PLR2004 - 20240331
        return _of_digits(text)
    if found := _SERIAL.fullmatch(text):
        number = int(found[1])
        return DayRead(SERIAL, serial=number) if number in _SERIALS else None
    return _named(text)


def parted(text: str) -> tuple[str, time | None]:
    """Part a text into its day and its time of day, which knows its zone where the text tells it.

    ValueError where there is no such time of day.
    """
    day, found = _parted(tidy(text))
    if found is None:
        return day, None
    hour = int(found["hour"])
    if found["half"]:
        if not 0 < hour <= _NOON:
            raise ValueError("no such hour of half a day")
        hour = hour % _NOON + (_NOON if found["half"] in "Pp" else 0)
    zone = None if found["zone"] is None else _zone(found["zone"].upper())
    return day, time(hour, int(found["minute"]), int(found["second"] or 0), tzinfo=zone)


def _parted(text: str) -> tuple[str, re.Match[str] | None]:
    found = _TIME.search(text) if len(text) <= LETTERS_MAX else None
    return (text[: found.start()], found) if found and found.end() == len(text) else (text, None)


def _zone(told: str) -> timezone:
    if told in _ZONES:
        return timezone(timedelta(hours=_ZONES[told]))
    ahead = timedelta(hours=int(told[1:3]), minutes=int(told[-2:]))
    return timezone(-ahead if told.startswith("-") else ahead)


def _orders(parts: dict[str, tuple[int, int, int]]) -> dict[str, date]:
    told = {}
    for order, (year, month, day) in parts.items():
        if year in _YEARS:
            try:
                told[order] = date(year, month, day)
            except ValueError:
                continue
    return told


def _of_parts(first: str, second: str, third: str, between: str) -> DayRead | None:
    one, two = int(first), int(second)
    year = _year(third)
    ways = {DAY_FIRST: (year, two, one), MONTH_FIRST: (year, one, two)}
    ends = None
    if len(first) == len(third) == 2:  # noqa: PLR2004 - 24-03-31
        ends = (first, third)
        ways[YEAR_FIRST] = (_year(first), two, int(third))
    by = _orders(ways)
    return DayRead(PARTS, by, ends=ends, dashed=between == "-") if by else None


def _of_digits(text: str) -> DayRead | None:
    by = _orders(
        {
            YEAR_FIRST: (int(text[:4]), int(text[4:6]), int(text[6:])),
            DAY_FIRST: (int(text[4:]), int(text[2:4]), int(text[:2])),
            MONTH_FIRST: (int(text[4:]), int(text[:2]), int(text[2:4])),
        }
    )
    return DayRead(DIGITS, by) if by else None


def _named(text: str) -> DayRead | None:
    folded = plain_letters(_WEEKDAY.sub("", text) if not _NAME_FIRST.fullmatch(text) else text)
    if found := _NAMED.fullmatch(folded):
        day, name, year = int(found[1]), found[2], _year(found[3])
    elif found := _NAME_FIRST.fullmatch(folded):
        name, day, year = found[1], int(found[2]), int(found[3])
    elif found := _YEAR_NAME.fullmatch(folded):
        year, name, day = int(found[1]), found[2], int(found[3])
    else:
        return None
    month = _MONTHS.get(name)
    by = {} if month is None else _orders({DAY_FIRST: (year, month, day)})
    return DayRead(NAMED, by) if by else None


_CENTURY: Final = 100
_LAST_OF_2000S: Final = 68
"""Of years with two figures: 68 is 2068, and 69 is 1969, as for most who read them."""


def _year(text: str) -> int:
    year = int(text)
    if year >= _CENTURY:
        return year
    return year + (2000 if year <= _LAST_OF_2000S else 1900)


def plain_letters(text: str) -> str:
    """Give a text in small letters without accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def of_serial(number: int, system: str) -> date:
    """Give the day that a spreadsheet shows for a number."""
    return SYSTEMS[system] + timedelta(days=number)


# ----------------------------------------------------------------------------------- answers

_YES: Final = frozenset(
    ["yes", "y", "true", "1", "1.0", "oui", "o", "vrai", "ndiyo", "ndio", "kweli"]
)
_NO: Final = frozenset(["no", "n", "false", "0", "0.0", "non", "faux", "hapana", "siyo", "sivyo"])


def yes_or_no(text: str) -> str | None:
    """Give yes or no for the word of it in three languages; None for any other."""
    folded = plain_letters(tidy(text))
    return "yes" if folded in _YES else "no" if folded in _NO else None
