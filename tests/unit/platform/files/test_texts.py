"""Short texts are read whole or not at all, and a draft buries nobody's work."""

import io
import sys
from pathlib import Path

import pytest

from alama.core.errors import FileProblem
from alama.platform.files.texts import STDIN, named, read_bytes, write_new_text


def test_a_file_is_read_as_it_is_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b"\xff\r\n" + b"x" * 1_021)
    assert read_bytes(path, 1_024) == path.read_bytes()
    with pytest.raises(FileProblem, match=r"policy\.toml is larger than"):
        read_bytes(path, 1_023)


def test_standard_input_is_read_by_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xffabc")))
    assert read_bytes(STDIN, 4) == b"\xffabc"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 2_000)))
    with pytest.raises(FileProblem, match="standard input is larger than 1 KiB"):
        read_bytes(STDIN, 1_024)


def test_a_file_is_named_as_it_was_and_a_dash_by_what_it_stands_for() -> None:
    assert (named(Path("a/b.toml")), named(Path("-"))) == ("a/b.toml", "standard input")


def test_what_cannot_be_read_is_told_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="No such file"):
        read_bytes(tmp_path / "none.toml", 10)
    with pytest.raises(FileProblem, match="Is a directory"):
        read_bytes(tmp_path, 10)


def test_a_text_is_written_where_nothing_is(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    write_new_text(path, "name = 'caf\u00e9'\n")
    assert path.read_bytes() == "name = 'caf\u00e9'\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_text_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("mine")
    with pytest.raises(FileProblem, match="is there already"):
        write_new_text(path, "new")
    assert path.read_text() == "mine"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"the folder .* does not exist"):
        write_new_text(tmp_path / "none" / "policy.toml", "new")
