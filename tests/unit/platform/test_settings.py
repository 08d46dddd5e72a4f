"""Settings are read strictly, and the page about them says what they are."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from alama.platform.addresses import DEVELOPMENT, LOOPBACK, Reach, networks
from alama.platform.settings import Described, InvalidSetting, Settings, described, read

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def row(setting: Described) -> str:
    return f"| `{setting.variable}` | `{setting.default}` | {setting.meaning} |"


def test_every_setting_stands_on_the_page_in_the_words_of_the_code() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `ALAMA_")]
    assert rows == [row(setting) for setting in described()]


def test_every_setting_has_a_meaning() -> None:
    assert [setting.field for setting in described()] == list(Settings.__struct_fields__)
    assert all(setting.meaning.endswith(".") for setting in described())


def test_without_an_environment_the_defaults_stand() -> None:
    assert read({}) == Settings()
    assert read({"PATH": "/bin", "ALAMA_PORT": ""}) == Settings()


def test_settings_are_read_as_what_they_are() -> None:
    settings = read({"ALAMA_HOME": "/srv/alama", "ALAMA_PORT": "0", "ALAMA_LOG": "json"})
    assert settings == Settings(home="/srv/alama", port=0, log="json")
    assert settings.home_folder == Path("/srv/alama")


def test_secrets_are_not_shown_wherever_settings_are_printed() -> None:
    address = "postgresql://alama:s3cret@db/alama"
    settings = read({"ALAMA_DATABASE": address, "ALAMA_PEPPER": "s3cret" * 6, "ALAMA_PORT": "8001"})
    printed = StringIO()
    Console(file=printed).print(settings)
    for shown in (repr(settings), str(settings), printed.getvalue()):
        assert "s3cret" not in shown
        assert "8001" in shown
    assert "pepper=None" in repr(Settings())


def test_the_database_is_a_file_below_home_unless_it_is_set() -> None:
    assert read({"ALAMA_HOME": "/srv/alama"}).database_address == "sqlite:////srv/alama/alama.db"
    assert Settings(home="data").database_address == f"sqlite:///{Path.cwd()}/data/alama.db"
    address = "postgresql://db/alama"
    assert read({"ALAMA_DATABASE": address}).database_address == address


def test_webhooks_reach_the_public_internet_and_what_is_allowed() -> None:
    assert Settings().webhook_reach == Reach()
    allowed = networks("10.1.0.0/16,fd12:3456::/48")
    settings = read({"ALAMA_WEBHOOK_ALLOW": "10.1.0.0/16, fd12:3456::/48"})
    assert settings.webhook_reach == Reach(allowed)


@pytest.mark.parametrize(
    ("allowed", "network", "address"),
    [
        ("10.0.0.1/8", "10.0.0.0/8", "10.0.0.1"),
        ("10.1.0.0/16, fd12::1/48", "fd12::/48", "fd12::1"),
        ("10.1.0.1/255.255.0.0", "10.1.0.0/16", "10.1.0.1"),
    ],
)
def test_what_may_be_a_network_or_an_address_is_refused_with_both(
    allowed: str, network: str, address: str
) -> None:
    with pytest.raises(InvalidSetting) as refused:
        read({"ALAMA_WEBHOOK_ALLOW": allowed})
    hint = refused.value.hint or ""
    assert f"write {network} for the network, or {address} for the one address" in hint


def test_in_development_webhooks_reach_this_machine_too() -> None:
    assert read({"ALAMA_DEVELOPMENT": "yes"}).webhook_reach == DEVELOPMENT
    both = read({"ALAMA_DEVELOPMENT": "yes", "ALAMA_WEBHOOK_ALLOW": "10.1.0.0/16"})
    assert both.webhook_reach.schemes == ("https", "http")
    assert both.webhook_reach.allowed == (*LOOPBACK, *networks("10.1.0.0/16"))


@pytest.mark.parametrize(
    ("variable", "value", "hint"),
    [
        ("ALAMA_PORT", "eighty", "From 0 to 65535."),
        ("ALAMA_PORT", "65536", "From 0 to 65535."),
        ("ALAMA_WORKERS", "0", "From 1 to 256."),
        ("ALAMA_WORKERS", "1.5", "From 1 to 256."),
        ("ALAMA_LOG", "xml", "`json` lines, `text` for people, or `auto`: text on a terminal."),
        ("ALAMA_DEVELOPMENT", "true", "webhooks may be sent over http, and to this machine."),
        ("ALAMA_WEBHOOK_ALLOW", "localhost", "Every lender may send there."),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_may_be(
    variable: str, value: str, hint: str
) -> None:
    with pytest.raises(InvalidSetting) as refused:
        read({variable: value})
    assert str(refused.value) == f"{variable} is not valid"
    assert refused.value.hint is not None
    assert refused.value.hint.endswith(hint)


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("ALAMA_DATABSE", "did you mean ALAMA_DATABASE?"),
        ("ALAMA_RATELIMIT", "did you mean ALAMA_RATE_LIMIT?"),
        ("ALAMA_X", "`alama settings` lists them"),
    ],
)
def test_a_misspelled_setting_is_refused_with_the_nearest(variable: str, hint: str) -> None:
    with pytest.raises(InvalidSetting, match=f"there is no setting {variable}") as refused:
        read({variable: "secret"})
    assert refused.value.hint == hint
