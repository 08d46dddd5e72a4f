"""An installation is opened by whoever comes first, and by everyone else alike."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alama import settings, wiring
from alama.service import lenders
from alama.service.errors import StoreUnfit
from alama.settings import InvalidSetting, Settings
from tests.databases import Postgres


def chosen(home: Path, **variables: str) -> Settings:
    return settings.read({"ALAMA_HOME": str(home), **variables})


def test_a_new_installation_can_be_used_at_once(tmp_path: Path) -> None:
    installed = wiring.open_installation(chosen(tmp_path / "home"))
    (lender,) = installed.registry.lenders()
    assert (lender.id, lender.currency) == (lenders.DEMO, "KES")
    installed.close()


def test_a_pepper_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    pepper = wiring.pepper(chosen(home))
    assert len(pepper) >= wiring.PEPPER_LENGTH_MIN
    assert wiring.pepper(chosen(home)) == pepper
    assert (home / "pepper").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in home.iterdir()] == ["pepper"]


def test_a_pepper_appears_with_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever found it empty would hash every key with nothing."""
    there_before: list[bool] = []

    def slowly(length: int) -> str:
        there_before.append((tmp_path / "pepper").exists())
        return "ab" * length

    monkeypatch.setattr("alama.wiring.secrets.token_hex", slowly)
    assert wiring.pepper(chosen(tmp_path)) == b"ab" * 32
    assert there_before == [False]


def test_all_who_open_a_new_installation_at_once_agree_on_it(tmp_path: Path) -> None:
    for number in range(10):
        home = tmp_path / str(number)
        with ThreadPoolExecutor(4) as pool:
            opened = list(pool.map(wiring.open_installation, [chosen(home)] * 4))
        assert len({installed.pepper for installed in opened}) == 1
        assert [lender.id for lender in opened[0].registry.lenders()] == [lenders.DEMO]
        for installed in opened:
            installed.close()


def test_a_pepper_that_is_set_is_taken(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert wiring.pepper(chosen(home, ALAMA_PEPPER="x" * 32)) == b"x" * 32
    assert not home.exists()


def test_a_short_pepper_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="fewer than 32") as caught:
        wiring.pepper(chosen(tmp_path, ALAMA_PEPPER="too-short"))
    assert "too-short" not in str(caught.value) + str(caught.value.hint)


def test_a_database_is_not_opened_with_another_pepper(tmp_path: Path) -> None:
    wiring.open_installation(chosen(tmp_path)).close()
    with pytest.raises(StoreUnfit, match="another pepper"):
        wiring.open_installation(chosen(tmp_path, ALAMA_PEPPER="x" * 32))


def test_a_database_of_others_is_neither_migrated_nor_furnished(
    tmp_path: Path, postgres: Postgres
) -> None:
    with postgres.fresh() as url, pytest.raises(StoreUnfit, match="empty") as caught:
        wiring.open_installation(chosen(tmp_path, ALAMA_DATABASE=url))
    assert "alama db upgrade" in str(caught.value.hint)
