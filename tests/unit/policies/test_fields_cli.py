"""`alama fields`, and the page that goes the way with it."""

import re
from pathlib import Path

import pytest

from alama.app.cli import main
from alama.core import own_fields
from alama.core.lending import draft, policy_text
from alama.core.own_fields import answering
from alama.core.product import PRODUCT
from tests.own_fields import TEXT, THREE, the_three

PAGE = (Path(__file__).parents[3] / "docs" / "own-fields.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files and an installation lie, and where commands are called."""
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("installed_at_home")
def test_the_commands_of_the_page_declare_the_three(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for line in re.findall(r"^    alama (fields .*)$", PAGE, re.MULTILINE):
        words = re.findall(r'"([^"]*)"|(\S+)', line)
        assert main([quoted or plain for quoted, plain in words]) == 0
    assert Path("fields.toml").read_bytes() == TEXT
    said = capsys.readouterr().out
    assert "is sound" in said
    assert all(name in said for name in THREE)
    assert "is in force for demo, in every process within a second" in said
    assert main(["fields", "show"]) == 0
    assert capsys.readouterr().out.encode() == TEXT
    assert main(["fields", "history"]) == 0
    assert "W. Mutua" in capsys.readouterr().out


def test_the_field_of_the_page_is_one_of_them() -> None:
    (shown,) = re.findall(r"```toml\n(\[\[fields\]\].*?)```", PAGE, re.DOTALL)
    head = 'schema = "alama.fields/1"\nname = "ours"\nversion = "1"\n'
    (field,) = own_fields.read((head + shown).encode()).fields
    (known, *_) = the_three().fields
    assert (field.name, field.labels, field.change) == (known.name, known.labels, known.change)


def test_the_rule_of_the_page_can_be_read_once_they_are_declared() -> None:
    (rule,) = re.findall(r"```toml\n(\[\[rules\]\].*?)```", PAGE, re.DOTALL)
    text = f"{draft.default_text('KES').decode()}\n{rule}".encode()
    policy = policy_text.read(text, answering(PRODUCT, the_three()))
    assert policy.rules[-1].name == "bureau_low"


def test_a_policy_whose_rules_read_them_is_checked_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (rule,) = re.findall(r"```toml\n(\[\[rules\]\].*?)```", PAGE, re.DOTALL)
    policy, declared = tmp_path / "policy.toml", tmp_path / "fields.toml"
    policy.write_text(f"{draft.default_text('KES').decode()}\n{rule}", "utf-8")
    declared.write_bytes(TEXT)
    (line,) = re.findall(r"^    alama (policy check .*)$", PAGE, re.MULTILINE)
    assert main(line.split()) == 0
    assert "bureau_low" in capsys.readouterr().out
    assert main(["policy", "check", str(policy)]) == 2
    assert "bureau_score is not a field" in " ".join(capsys.readouterr().out.split())


def test_what_is_not_sound_is_told_line_by_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(TEXT.replace(b'"branch"', b'"gender"'))
    assert main(["fields", "check", str(path)]) == 2
    assert "must never be sent" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("installed_at_home")
def test_nothing_of_the_kind_was_ever_in_force(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fields", "activate", "3f9a1c0d", "--by", "W. Mutua"]) == 2
    assert "no fields 3f9a1c0d were ever in force here" in capsys.readouterr().err
    assert main(["fields", "show"]) == 0
    assert "has declared no fields of its own" in capsys.readouterr().err
