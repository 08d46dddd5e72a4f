"""What may be entered as the address of a receiver, and what is said of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.platform.addresses import (
    DEVELOPMENT,
    LENGTH_MAX,
    InvalidUrl,
    Reach,
    check,
    networks,
    normal,
)

PLAIN = Reach()


def code(url: str, reach: Reach = PLAIN) -> str | None:
    """The rule that a URL breaks; None: it may be entered."""
    try:
        check(url, reach)
    except InvalidUrl as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "https://example.com./hooks",
        "HTTPS://Example.COM:8443/hooks?a=b&c=%20d",
        "https://a-b.example_c.com/",
        "https://xn--mnchen-3ya.example/",
        "https://1e100.net/",
        "https://127.0.0.1.example.com/",
        "https://0x7f.example/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]:443/",
        "https://[::ffff:8.8.8.8]/",
        "https://receiver/",
        "https://example.com/" + "a" * (LENGTH_MAX - 20),
    ],
)
def test_a_public_address_over_tls_may_be_entered(url: str) -> None:
    assert code(url) is None


def test_what_no_event_can_be_sent_to_is_refused_by_its_rule(subtests: pytest.Subtests) -> None:
    # Older Pythons read some brackets that newer ones do not; either way they are refused.
    for url, rule in [
        ("", "scheme"),
        ("https://example.com/" + "a" * (LENGTH_MAX - 19), "too_long"),
        ("https://münchen.example/", "malformed"),
        ("https://example.com/a b", "malformed"),
        ("https://example.com/\n", "malformed"),
        (" https://example.com/", "malformed"),
        ("https://example.com\\@127.0.0.1/", "malformed"),
        ("https://\uff11\uff12\uff17.0.0.1/", "malformed"),  # digits of full width
        ("https://[::1", "malformed"),
        ("https://[v1.a]/", "malformed"),
        ("https://example.com:99999/", "port"),
        ("https://example.com:+80/", "port"),
        ("https://example.com:0/", "port"),
        ("https://example.com:/", "host"),
        ("http://example.com/", "scheme"),
        ("ftp://example.com/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://example.com/", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("example.com", "scheme"),
        ("//example.com/", "scheme"),
        ("https://", "host"),
        ("https:///hooks", "host"),
        ("https:example.com", "host"),
        ("https://user@example.com/", "credentials"),
        ("https://user:secret@example.com/", "credentials"),
        ("https://@example.com/", "credentials"),
        ("https://example.com@127.0.0.1/", "credentials"),
        ("https://example.com/#", "fragment"),
        ("https://example.com/#a", "fragment"),
        ("https://.example.com/", "host"),
        ("https://example..com/", "host"),
        ("https://-a.example/", "host"),
        ("https://a-.example/", "host"),
        ("https://a%2e.example/", "host"),
        ("https://a,b/", "host"),
        ("https://*.example.com/", "host"),
        ("https://" + "a" * 64 + ".example/", "host"),
        ("https://" + "a.b." * 64 + "example/", "host"),
        ("https://a[::1]/", "host"),
        ("https://[::1]a/", "host"),
        ("https://[fe80::1%25eth0]/", "host"),
        ("https://[::1%25lo]/", "host"),
    ]:
        with subtests.test(url):
            found = code(url)
            assert found == rule or ("[" in url and found in {"host", "malformed"})


def test_an_address_that_is_not_public_is_refused_at_once(subtests: pytest.Subtests) -> None:
    for host in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[2002:a00:1::]",
        "[fd00:ec2::254]",
        "localhost",
        "LocalHost",
        "localhost.",
        "a.b.localhost",
    ]:
        with subtests.test(host):
            assert code(f"https://{host}/") == "address"


@pytest.mark.parametrize(
    ("host", "advised"),
    [
        ("10.0.0.1", True),
        ("[fd12::1]", True),
        ("169.254.169.254", False),
        ("[::ffff:a9fe:a9fe]", False),
        ("[fe80::1]", False),
        ("[fd00:ec2::254]", False),
    ],
)
def test_nobody_is_advised_to_open_the_metadata_of_a_cloud(host: str, *, advised: bool) -> None:
    with pytest.raises(InvalidUrl) as refused:
        check(f"https://{host}/", PLAIN)
    assert ("ALAMA_WEBHOOK_ALLOW" in (refused.value.hint or "")) == advised


def test_an_odd_spelling_is_refused_whatever_it_means(subtests: pytest.Subtests) -> None:
    for host in [
        "0",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "127.0.0.01",
        "0177.0.0.1",
        "0x7f.1",
        "0x7f000001",
        "0X7F.0.0.1",
        "2130706433",
        "017700000001",
        "127.0.0.0x1",
        "1.2.3.4.5",
        "256.1.1.1",
        "999999999999",
        "8.8.2056",
        "example.0x",
        "example.1",
    ]:
        with subtests.test(host):
            assert code(f"https://{host}/") == "host"


@pytest.mark.parametrize(
    "url",
    [
        "https://user:s3cret@example.com/",
        "https://example.com/#s3cret",
        "http://s3cret.example/",
        "https://s3cret..example/",
        "https://example.com/s3cret s3cret",
        "https://[s3cret]/",
        "https://s3cret.localhost/",
    ],
)
def test_what_was_entered_is_not_repeated(url: str) -> None:
    with pytest.raises(InvalidUrl) as refusal:
        check(url, PLAIN)
    assert "s3cret" not in f"{refusal.value} {refusal.value.hint}"


@given(st.integers(0, 2**32 - 1))
def test_no_number_stands_for_an_address(number: int) -> None:
    for spelled in (str(number), hex(number), f"0{number:o}", f"127.{number}"):
        assert code(f"https://{spelled}/") == "host"


@given(st.text(max_size=40))
def test_no_text_whatever_breaks_the_rules(text: str) -> None:
    for url in (text, f"https://{text}", f"https://[{text}]/", f"https://a:{text}"):
        code(url)


def test_an_operator_can_allow_a_network_but_nothing_in_clear() -> None:
    reach = Reach(networks("10.1.0.0/16"))
    assert code("https://10.1.2.3/", reach) is None
    assert code("https://10.2.0.0/", reach) == "address"
    assert code("http://10.1.2.3/", reach) == "scheme"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "example.com"])
def test_in_development_this_machine_and_plain_http_will_do(host: str) -> None:
    assert code(f"http://{host}:9000/hooks", DEVELOPMENT) is None
    assert code(f"https://{host}:9000/hooks", DEVELOPMENT) is None


def test_what_is_sent_in_clear_is_refused_with_the_setting_that_allows_it() -> None:
    with pytest.raises(InvalidUrl) as refusal:
        check("http://example.com/", PLAIN)
    assert "ALAMA_DEVELOPMENT=yes" in (refusal.value.hint or "")
    with pytest.raises(InvalidUrl) as refusal:
        check("ftp://example.com/", PLAIN)
    assert refusal.value.hint is None


@pytest.mark.parametrize("url", ["HTTPS://Example.com/A?b=C:d", "https://Example.com/A?b=C:d"])
def test_a_scheme_is_kept_in_small_letters_and_the_rest_as_it_is(url: str) -> None:
    assert normal(url) == "https://Example.com/A?b=C:d"


def test_in_development_other_private_networks_stay_closed() -> None:
    assert code("http://169.254.169.254/", DEVELOPMENT) == "address"
    assert code("http://10.0.0.1/", DEVELOPMENT) == "address"
