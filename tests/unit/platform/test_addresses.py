"""Which addresses may be sent to: every special range, its borders, and what leads into one."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alama.platform.addresses import (
    GLOBAL_UNICAST_V6,
    SPECIAL_V4,
    SPECIAL_V6,
    Address,
    Network,
    forbidden,
    is_sensitive,
    networks,
    parsed,
)

# Written once more, from IANA's registries, so that a range that was lost there is missed here.
REGISTERED = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "::ffff:10.0.0.0/104",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]

METADATA_OF_CLOUDS = [
    "169.254.169.254",  # AWS, Google, Azure and most others
    "169.254.170.2",  # tasks of AWS
    "fd00:ec2::254",  # AWS over IPv6
    "100.100.100.200",  # Alibaba
    "192.0.0.192",  # Oracle
    "168.63.129.16",  # Azure's platform
]

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001::1", "2c0f::1"]

v4 = st.ip_addresses(v=4)
v6 = st.ip_addresses(v=6)
either = st.one_of(v4, v6)


def within(network: Network) -> st.SearchStrategy[Address]:
    first, last = int(network.network_address), int(network.broadcast_address)
    kind = type(network.network_address)
    return st.one_of(st.just(first), st.just(last), st.integers(first, last)).map(kind)


special_v4 = st.sampled_from([network for network, _ in SPECIAL_V4]).flatmap(within)
special_v6 = st.sampled_from([network for network, _ in SPECIAL_V6]).flatmap(within)


def wrapped(inner: IPv4Address) -> dict[str, IPv6Address]:
    """Every way in which an IPv6 address leads to this one."""
    number = int(inner)
    teredo_server, other = IPv4Address("65.54.227.120"), IPv4Address("1.1.1.1")
    return {
        "mapped": IPv6Address(0xFFFF << 32 | number),
        "compatible": IPv6Address(number),
        "NAT64": IPv6Address(0x64_FF9B << 96 | number),
        "6to4": IPv6Address(0x2002 << 112 | number << 80 | 1),
        "client of Teredo": IPv6Address(
            0x2001_0000 << 96 | int(teredo_server) << 64 | (number ^ 0xFFFF_FFFF)
        ),
        "server of Teredo": IPv6Address(
            0x2001_0000 << 96 | number << 64 | (int(other) ^ 0xFFFF_FFFF)
        ),
    }


def test_every_registered_range_is_refused_from_its_first_to_its_last(
    subtests: pytest.Subtests,
) -> None:
    for text in REGISTERED:
        with subtests.test(text):
            network = ip_network(text)
            assert forbidden(network.network_address, ()) is not None
            assert forbidden(network.broadcast_address, ()) is not None


def test_what_lies_just_outside_is_public(subtests: pytest.Subtests) -> None:
    for text in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::",
        "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db9::",
        "2003::",
        "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
        "2620:4f:8001::",
        "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "3fff:1000::",
        *PUBLIC,
    ]:
        with subtests.test(text):
            assert forbidden(ip_address(text), ()) is None


@pytest.mark.parametrize("text", METADATA_OF_CLOUDS)
def test_what_a_cloud_tells_its_machines_is_out_of_reach(text: str) -> None:
    assert forbidden(ip_address(text), ()) is not None


@given(either)
def test_nothing_that_python_holds_for_private_is_public(address: Address) -> None:
    assume(not (isinstance(address, IPv6Address) and address.ipv4_mapped))
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert forbidden(address, ()) is not None


@given(v6)
def test_all_of_ipv6_that_was_not_given_out_is_refused(address: IPv6Address) -> None:
    assume(address.ipv4_mapped is None and address not in GLOBAL_UNICAST_V6)
    assert forbidden(address, ()) is not None


@given(special_v4)
def test_no_wrapping_takes_a_special_address_out(inner: IPv4Address) -> None:
    assume(int(inner) > 1)  # :: and ::1 are no IPv4 addresses, but IPv6's own
    for way, address in wrapped(inner).items():
        assert forbidden(address, ()) is not None, way
        # Nor where the tunnel or the translator itself is allowed.
        tunnels = networks("::/96,64:ff9b::/96,2002::/16,2001::/32")
        assert forbidden(address, tunnels) is not None, way


def test_a_mapped_address_is_the_one_it_stands_for() -> None:
    assert forbidden(ip_address("::ffff:8.8.8.8"), ()) is None
    assert forbidden(ip_address("::ffff:127.0.0.1"), networks("127.0.0.0/8")) is None


def test_a_translator_can_be_allowed_and_leads_to_the_public_alone() -> None:
    translator = networks("64:ff9b::/96")
    assert forbidden(ip_address("64:ff9b::8.8.8.8"), ()) is not None
    assert forbidden(ip_address("64:ff9b::8.8.8.8"), translator) is None
    assert forbidden(ip_address("64:ff9b::10.0.0.1"), translator) is not None
    assert (
        forbidden(ip_address("64:ff9b::10.0.0.1"), (*translator, *networks("10.0.0.0/8"))) is None
    )


@given(st.one_of(special_v4, special_v6))
def test_an_allowed_address_is_allowed_and_its_neighbours_are_not(address: Address) -> None:
    assume(
        not any(address == way for way in wrapped(IPv4Address(int(address) & 0xFFFF_FFFF)).values())
    )
    assume(address not in IPv6Network("2001::/32") and address not in IPv6Network("2002::/16"))
    only = (ip_network(str(address)),)
    assert forbidden(address, only) is None
    for step in (-1, 1):
        try:
            neighbour = address + step
        except ValueError:
            continue
        assert forbidden(neighbour, only) == forbidden(neighbour, ())


@given(either)
def test_allowing_everything_allows_everything_but_what_is_never_meant(address: Address) -> None:
    expected = is_sensitive(address)
    assert (forbidden(address, networks("0.0.0.0/0,::/0")) is not None) == expected


@pytest.mark.parametrize(
    "text", [*METADATA_OF_CLOUDS, "169.254.0.0", "169.254.255.255", "fe80::1", "febf::1"]
)
def test_what_is_link_local_or_of_a_cloud_is_opened_by_a_network_inside_alone(text: str) -> None:
    address = ip_address(text)
    every = "0.0.0.0/0,::/0,128.0.0.0/1,169.0.0.0/8,100.64.0.0/10,192.0.0.0/24,fd00::/8,fe00::/8"
    assert is_sensitive(address)
    assert forbidden(address, networks(every)) is not None
    assert forbidden(address, networks(text)) is None


def test_a_whole_link_local_range_can_be_named() -> None:
    assert forbidden(IPv4Address("169.254.7.9"), networks("169.254.0.0/16")) is None
    assert forbidden(IPv6Address("fe80::9"), networks("fe80::/10")) is None


def test_no_tunnel_or_other_spelling_opens_the_metadata_of_a_cloud() -> None:
    allowed = networks("0.0.0.0/0,::/0")
    for way, address in wrapped(IPv4Address("169.254.169.254")).items():
        assert forbidden(address, allowed) == "link-local", way


@given(either)
def test_a_reason_can_be_read(address: Address) -> None:
    assert forbidden(address, ()) != ""


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", IPv4Address("127.0.0.1")),
        ("::1", IPv6Address("::1")),
        ("fe80::1%eth0", IPv6Address("fe80::1")),
        ("127.1", None),
        ("0177.0.0.1", None),
        ("2130706433", None),
        ("localhost", None),
        ("", None),
    ],
)
def test_an_address_is_read_in_one_spelling_alone(text: str, address: Address | None) -> None:
    assert parsed(text) == address


def test_networks_are_read_with_and_without_a_prefix() -> None:
    assert networks("10.1.0.0/16, fd12:3456::/48,192.0.2.7") == (
        IPv4Network("10.1.0.0/16"),
        IPv6Network("fd12:3456::/48"),
        IPv4Network("192.0.2.7/32"),
    )


@pytest.mark.parametrize(
    "text", ["", "10.0.0.0/8,", "10.1.0.0/8", "10.0.0.0/33", "localhost", "10"]
)
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        networks(text)
