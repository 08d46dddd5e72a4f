"""A policy is read strictly: whoever writes one is told the line of everything that is wrong."""

from __future__ import annotations

import re

import pytest

from alama.core.errors import FAULTS_MAX, InvalidPolicy
from alama.core.lending import policy_check
from alama.core.lending.draft import default_policy, default_text
from alama.core.lending.policy_text import (
    DOTS_MAX,
    MORE,
    SIZE_MAX,
    UNREADABLE,
    decode,
    read,
    unjudged,
)

POLICY = default_policy("KES")
TEXT = default_text("KES").decode()
RULE = """\
[[rules]]
name = "new_wallet"
when = "mm_months < 3"
decision = "DECLINED"
says = "the wallet is younger than three months"
"""
RULED = TEXT.replace("[affordability]", RULE + "\n[affordability]")


def with_line(old: str, new: str, text: str = TEXT) -> tuple[bytes, int]:
    """Give the text with what a line begins with replaced, and the number of that line."""
    place = re.search(f"^{re.escape(old)}", text, re.MULTILINE)
    assert place is not None, old
    changed = text[: place.start()] + new + text[place.end() :]
    return changed.encode(), text[: place.start()].count("\n") + 1


def refusal_of(written: bytes) -> InvalidPolicy:
    with pytest.raises(InvalidPolicy) as caught:
        read(written)
    return caught.value


# ------------------------------------------------------------------------ the id


def test_the_id_is_the_hash_of_what_the_text_says() -> None:
    assert read(TEXT.encode()) == POLICY
    assert POLICY.id.startswith("sha256:")


def test_comments_and_layout_do_not_change_the_id() -> None:
    lines = [line.partition(" # ")[0].strip() for line in TEXT.splitlines()]
    bare = "\n".join(line for line in lines if line and not line.startswith("#"))
    assert read(bare.encode()) == POLICY
    assert read(TEXT.replace(" = ", "\t=  ").replace("\n", "\r\n").encode()) == POLICY
    assert read(TEXT.replace("150  #", "1.5e2  #").encode()) == POLICY


def test_every_figure_changes_the_id() -> None:
    ids = {POLICY.id}
    figures = list(re.finditer(r"^\w+ = .*?(\d)(?=[ \],]|$)", TEXT, re.MULTILINE))
    refused = 0
    for figure in figures:
        digit = str((int(figure[1]) + 5) % 10)
        changed = TEXT[: figure.start(1)] + digit + TEXT[figure.end(1) :]
        try:
            ids.add(read(changed.encode()).id)
        except InvalidPolicy:
            refused += 1
    assert len(ids) == 1 + len(figures) - refused
    assert len(ids) > 15


def test_a_stored_text_is_read_under_its_own_id_alone() -> None:
    assert decode(TEXT.encode(), POLICY.id) == POLICY
    changed, _ = with_line("margin = 10", "margin = 90")
    for damaged in (changed, b"garbage = =", b""):
        with pytest.raises(InvalidPolicy, match=f"{POLICY.id} was changed or is damaged") as caught:
            decode(damaged, POLICY.id)
        assert "restore it from a backup" in str(caught.value.hint)


def test_a_stored_text_is_not_judged_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_check, "TERM_DAYS_MAX", 10)
    with pytest.raises(InvalidPolicy):
        read(TEXT.encode())
    assert decode(TEXT.encode(), POLICY.id) == POLICY
    assert unjudged(TEXT.encode()) == POLICY


def test_what_has_not_the_form_of_a_policy_cannot_have_decided() -> None:
    wrong, line = with_line("margin = 10", "margin = 'ten'")
    with pytest.raises(InvalidPolicy) as caught:
        unjudged(wrong)
    assert [(fault.line, fault.key) for fault in caught.value.faults] == [(line, "pricing.margin")]


# ------------------------------------------------------------------------ no policy at all


@pytest.mark.parametrize(
    ("written", "line", "told"),
    [
        (b"a = 1\nb = [1,\n", None, "this is not TOML: .*"),
        (b"a = 1\nb 2\n", 2, r"a key, = and a value are expected here; .* \(the line is: b 2\)"),
        (b"a = ", None, "this is not TOML: invalid value at the end of the text"),
        (b"a = 1\na = 2\n", 2, r"a stands twice in its table: .*"),
        (b"a = 1\nb = 1979-13-01\n", 2, r"this is not TOML: .* \(the line is: b = 1979-13-01\)"),
        (b"a = 1\nb = '\xff'\n", 2, "the text is not UTF-8"),
        (b"a = " + b"[" * 100_000, None, "the text is nested too deeply"),
        (b"a = 1\nb = 1" + b"0" * 5_000, None, "a number has thousands of digits"),
        (b"a = 1\nb" + b".b" * 100_000 + b" = 1", 2, f"a line has more than {DOTS_MAX} dots"),
        (b"a = 1\n[b" + b".b" * 100_000 + b"]", 2, f"a line has more than {DOTS_MAX} dots"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(
    written: bytes, line: int | None, told: str
) -> None:
    error = refusal_of(written)
    (fault,) = error.faults
    assert (fault.key, fault.line) == ("", line)
    assert re.fullmatch(told, fault.fault)
    assert error.hint == UNREADABLE


def test_an_enormous_text_is_refused_unread() -> None:
    assert "larger than 256 KiB" in str(refusal_of(b"\xff" * (SIZE_MAX + 1)))


@pytest.mark.parametrize(
    ("schema", "said"),
    [('schema = "alama.policy/2"', "another"), ("schema = 1", "another"), ("", "no")],
)
def test_another_schema_is_refused_with_the_line_to_write(schema: str, said: str) -> None:
    written, _ = with_line('schema = "alama.policy/1"', schema)
    error = refusal_of(written)
    assert f"the policy says {said} schema" in str(error)
    assert error.hint == 'its first line should be: schema = "alama.policy/1"'


def test_a_policy_does_not_name_itself() -> None:
    written, line = with_line("name = ", f'id = "{POLICY.id}"\nname = ')
    (fault,) = refusal_of(written).faults
    assert fault == (line, "id", "is worked out from the rest; leave it out")


# ------------------------------------------------------------------------ wrong kinds of values

WHOLE, NUMBER, QUOTED = "must be a whole number", "must be a number", "must be a text in quotes"
UNKNOWN = "is not a key of the policy; "
MEANT, TYPING = f"{UNKNOWN}did you mean score_min?", f"{UNKNOWN}a typing error?"
BARE = "without quotes and commas"
REVIEW = "must be one of APPROVED, REVIEW, DECLINED: did you mean REVIEW?"
HUGE = "1" + "0" * 400


def test_a_value_of_the_wrong_kind_is_named_with_its_line(subtests: pytest.Subtests) -> None:
    for old, new, key, told in [
        *(
            ("limit_step = 500", f"limit_step = {value}", "limit_step", WHOLE)
            for value in ("true", "1.5", "nan", "inf", "-0.0", "[1]", "{a = 1}")
        ),
        *(
            ("limit_step = 500", f"limit_step = {value}", "limit_step", WHOLE)
            for value in ("2026-11-15", "07:30:00", "2026-11-15T07:30:00Z", "1e400")
        ),
        *(
            ("apr_max = 150", f"apr_max = {value}", "caps.apr_max", NUMBER)
            for value in ("true", "2026-11-15", "[[150]]", "{}")
        ),
        ("apr_max = 150", f"apr_max = {HUGE}", "caps.apr_max", "is too large a number"),
        (
            "outflow_ratio_max = 1.5",
            "outflow_ratio_max = 'a'",
            "affordability.outflow_ratio_max",
            NUMBER,
        ),
        ("name = ", "name = 5 #", "name", QUOTED),
        ("currency = ", "currency = [] #", "currency", QUOTED),
        ("terms_days = ", "terms_days = 30 #", "terms_days", "must be a list"),
        ("terms_days = ", "terms_days = [[30]] #", "terms_days[1]", WHOLE),
        ("terms_days = ", "terms_days = [30, true] #", "terms_days[2]", WHOLE),
        ("forbidden_fields = []", "forbidden_fields = ['a', 5]", "law.forbidden_fields[2]", QUOTED),
        ("score_min = 650", "score_min = ''", "tiers.B.score_min", WHOLE),
        (
            "below_break_even = ",
            "below_break_even = 'MAYBE' #",
            "caps.below_break_even",
            "must be one of APPROVED, REVIEW, DECLINED",
        ),
        ("below_break_even = ", "below_break_even = 5 #", "caps.below_break_even", QUOTED),
        ("[caps]", "[[caps]]", "caps", "must be a table"),
        ("[law]", "[[law]]", "law", "must be a table"),
        ("[pricing]", "[prices]", "prices", f"{UNKNOWN}did you mean pricing?"),
        ("score_min = 650", "score_mim = 650", "tiers.B.score_mim", MEANT),
        ("score_min = 650", '"score.min" = 650', 'tiers.B."score.min"', MEANT),
        ("name = ", '"a` - at `$.b`" = 650\nname = ', '"a` - at `$.b`"', TYPING),
    ]:
        with subtests.test(old=old, new=new):
            written, line = with_line(old, new)
            assert refusal_of(written).faults == ((line, key, told),)


@pytest.mark.parametrize(
    ("new", "key"),
    [
        ('""', '""'),
        (r'"a\nb"', r'"a\nb"'),
        ('"a` - at `$.b`"', '"a` - at `$.b`"'),
        ("a" * 90, f'"{"a" * 60}"'),
    ],
)
def test_an_unknown_key_that_resembles_none_leaves_the_one_that_was_meant_missing(
    new: str, key: str
) -> None:
    written, line = with_line("score_min = 650", f"{new} = 650")
    assert refusal_of(written).faults == (
        (line - 2, "tiers.B.score_min", "is missing"),
        (line, f"tiers.B.{key}", TYPING),
    )


@pytest.mark.parametrize(
    ("old", "new", "key", "told"),
    [
        ("limit_step = 500", 'limit_step = "5"', "limit_step", f"{WHOLE}: 5, {BARE}"),
        (
            "limit_max = 50_000",
            'limit_max = "50,000"',
            "tiers.A.limit_max",
            f"{WHOLE}: 50000, {BARE}",
        ),
        ("margin = 10", 'margin = "14 %"', "pricing.margin", f"{NUMBER}: 14, {BARE}"),
        ("margin = 10", 'margin = "ten"', "pricing.margin", NUMBER),
        ("below_break_even = ", "below_break_even = 'Review' #", "caps.below_break_even", REVIEW),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_as_it_could_be_written(
    old: str, new: str, key: str, told: str
) -> None:
    written, line = with_line(old, new)
    assert refusal_of(written).faults == ((line, key, told),)


@pytest.mark.parametrize(
    ("old", "key", "header"),
    [
        ("score_min = 650", "tiers.B.score_min", '[[tiers]]\nname = "B"'),
        ("apr_max = 150", "caps.apr_max", "[caps]"),
        ("limit_step = 500", "limit_step", None),
        ("[pricing]", "pricing", None),
    ],
)
def test_a_missing_key_is_named_with_the_line_of_its_table(
    old: str, key: str, header: str | None
) -> None:
    text = TEXT if old != "[pricing]" else re.sub(r"\[pricing\](?s:.*?)(?=\[caps\])", "", TEXT)
    written = text.encode() if old == "[pricing]" else with_line(old, "#")[0]
    line = None if header is None else text[: text.index(header)].count("\n") + 1
    assert refusal_of(written).faults == ((line, key, "is missing"),)


@pytest.mark.parametrize(
    ("old", "new", "key", "told"),
    [
        ("when = ", "when = 5 #", "rules.new_wallet.when", QUOTED),
        ("when = ", "when = 'mm_monts < 3' #", "rules.new_wallet.when", "is wrong at column 1: .*"),
        ("says = ", r'says = "a\nb" #', "rules.new_wallet.says", "must be one line of .*"),
        ("[[rules]]", "[rules]", "rules", "must be a list"),
    ],
)
def test_a_fault_in_a_rule_is_named_with_its_line(old: str, new: str, key: str, told: str) -> None:
    written, line = with_line(old, new, RULED)
    (fault,) = refusal_of(written).faults
    assert (fault.line, fault.key) == (line, key)
    assert re.fullmatch(told, fault.fault)


# ------------------------------------------------------------------------ many faults


def test_every_fault_is_told_in_the_order_of_the_text() -> None:
    text = TEXT.replace("margin = 10", "margin = -1").replace('name = "C"', 'name = "A"')
    text = text.replace('currency = "KES"', 'currency = "kes"')
    error = refusal_of(text.encode())
    assert [fault.key for fault in error.faults] == ["currency", "tiers[3].name", "pricing.margin"]
    lines = [fault.line or 0 for fault in error.faults]
    assert lines == sorted(lines)
    for fault in error.faults:
        assert f"line {fault.line}: {fault.key} {fault.fault}" in str(error)


def test_faults_of_every_kind_are_told_at_once() -> None:
    changes = [
        ("score_min = 690", "score_min = 6500"),
        ("apr_max = 150", "aprmax = 150"),
        ("limit_max = 15_000", "limit_max = 15_250"),
        ('\nwhen = "mm_months < 3"', '\nwhen = "mm_month < 3"'),
        ('decision = "REVIEW"', 'decision = "NO"'),
        ("limit_step = 500", "limit_step = 500\nid = 5"),
    ]
    text = RULED
    for old, new in changes:
        text = text.replace(old, new, 1)
    error = refusal_of(text.encode())
    assert [fault.key for fault in error.faults] == [
        *("id", "tiers.A.score_min", "tiers.C.limit_max", "tiers.D.decision"),
        *("rules.new_wallet.when", "caps.aprmax"),
    ]
    assert error.hint == MORE


@pytest.mark.parametrize(
    ("old", "keys"),
    [
        ("limit_step = 500", ["limit_step"]),
        ("funding = 14", ["pricing.funding"]),
        ("score_min = 605", ["tiers.C.score_min"]),
    ],
)
def test_what_may_follow_from_a_missing_key_is_not_told(old: str, keys: list[str]) -> None:
    text = with_line(old, "#")[0].decode().replace("apr_max = 150", "apr_max = 12")
    keys += ["caps.apr_max"] if "funding" not in old else []
    assert [fault.key for fault in refusal_of(text.encode()).faults] == keys


def test_the_mark_that_some_editors_put_in_front_is_skipped() -> None:
    assert read(b"\xef\xbb\xbf" + TEXT.encode()) == POLICY


def test_a_text_with_thousands_of_faults_is_refused_at_once_with_the_first_of_them() -> None:
    # Each fault used to cost a walk over the whole text: minutes.
    forbidden = ", ".join(['"avg_inflow"'] * 10_000)
    written, line = with_line("forbidden_fields = []", f"forbidden_fields = [{forbidden}]")
    faults = refusal_of(written).faults
    assert len(faults) == FAULTS_MAX
    assert faults[0] == (line, "law.forbidden_fields[1]", "is required, so it cannot be forbidden")
