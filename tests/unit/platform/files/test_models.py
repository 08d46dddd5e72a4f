from pathlib import Path

import pytest

from alama.core import model as models
from alama.core import product
from alama.core.application import read
from alama.core.errors import FileProblem, InvalidModel
from alama.core.model import SIZE_MAX
from alama.platform.files import packaged
from alama.platform.files.packaged import model_at, read_model, sample_application
from alama.platform.files.promise import promised, promised_in_private
from tests.factories import a_model, write_model


def test_a_model_comes_back_as_it_was_written(tmp_path: Path) -> None:
    model = a_model()
    with promised(tmp_path / "model.json") as output:
        output.write(models.encode(model))
    assert read_model(tmp_path / "model.json") == model
    assert list(tmp_path.iterdir()) == [tmp_path / "model.json"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(FileProblem, match=r"cannot write .*nowhere does not exist"),
        promised(tmp_path / "nowhere" / "model.json") as output,
    ):
        output.write(b"{}")
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(FileProblem, match="cannot write"),
        promised(tmp_path / "folder") as output,
    ):
        output.write(b"{}")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("[1, 2]")
    with pytest.raises(InvalidModel, match=r"model\.json: this is not a model document") as caught:
        read_model(path)
    assert "alama train" in (caught.value.hint or "")


def test_a_changed_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    write_model(a_model(name="ours"), path)
    path.write_bytes(path.read_bytes().replace(b'"ours"', b'"mine"'))
    with pytest.raises(InvalidModel, match="was changed or damaged"):
        read_model(path)


def test_an_enormous_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(SIZE_MAX * 100)
    with pytest.raises(InvalidModel, match="is larger than"):
        read_model(path)


def test_a_missing_model_is_told_with_the_way_to_one(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="cannot read the model") as caught:
        read_model(tmp_path / "model.json")
    assert "alama train" in (caught.value.hint or "")


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="directory") as caught:
        read_model(tmp_path)
    assert caught.value.hint == "name the JSON file inside it"


def test_without_a_file_the_model_is_the_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model = a_model()
    monkeypatch.setattr(packaged, "builtin", lambda: model)
    assert model_at(None) is model


def test_the_sample_application_gives_every_field_that_a_model_may_read() -> None:
    import msgspec  # noqa: PLC0415

    application = read(product.PRODUCT, msgspec.json.decode(sample_application()))
    given = [value is not None for value in application.values]
    assert sum(given) == len(product.PRODUCT.model_fields) == 17


def test_what_is_somebodys_is_closed_to_others_from_its_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    touch = Path.touch

    def noted(self: Path, mode: int = 0o666, exist_ok: bool = True) -> None:  # noqa: FBT001, FBT002
        touch(self, mode, exist_ok)
        made.append(self.stat().st_mode & 0o777)

    monkeypatch.setattr(Path, "touch", noted)
    with promised_in_private(tmp_path / "keys.json") as output:
        output.write(b"{}")
    assert made == [0o600]
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
