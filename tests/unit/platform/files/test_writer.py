import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from alama.core.errors import FileProblem
from alama.platform.files.writer import open_table

COLUMNS: dict[str, pa.DataType] = {"amount": pa.float64(), "region": pa.string()}
SCHEMA = pa.schema(COLUMNS)


def batch(*amounts: float | None) -> pa.RecordBatch:
    regions = [None if amount is None else "Nairobi" for amount in amounts]
    return pa.RecordBatch.from_pydict({"amount": list(amounts), "region": regions}, SCHEMA)


@pytest.fixture(params=["table.csv", "table.parquet", "TABLE.CSV", "TABLE.Parquet"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def read(path: Path) -> pa.Table:
    if path.suffix.lower() == ".csv":
        convert = pyarrow.csv.ConvertOptions(column_types=SCHEMA, strings_can_be_null=True)
        return pyarrow.csv.read_csv(path, convert_options=convert)
    return pyarrow.parquet.read_table(path)


def test_batches_come_back_as_one_table_in_their_order(target: Path) -> None:
    with open_table(target, SCHEMA) as table:
        table.write(batch(1.25, None))
        table.write(batch(3.0))

    assert read(target).to_pydict() == {
        "amount": [1.25, None, 3.0],
        "region": ["Nairobi", None, "Nairobi"],
    }


def test_a_table_without_rows_still_has_its_columns(target: Path) -> None:
    with open_table(target, SCHEMA):
        pass

    assert read(target).column_names == ["amount", "region"]


def test_the_target_keeps_its_old_content_until_the_last_row(target: Path) -> None:
    target.write_text("old")

    with open_table(target, SCHEMA) as table:
        table.write(batch(1.0))
        assert target.read_text() == "old"

    assert read(target).num_rows == 1
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failing_block_leaves_nothing_behind(target: Path, failure: type[BaseException]) -> None:
    def write_and_fail() -> None:
        with open_table(target, SCHEMA) as table:
            table.write(batch(1.0))
            raise failure

    with pytest.raises(failure):
        write_and_fail()

    assert list(target.parent.iterdir()) == []


def test_a_failing_block_keeps_the_file_that_was_there(target: Path) -> None:
    target.write_text("old")

    with pytest.raises(KeyboardInterrupt), open_table(target, SCHEMA):
        raise KeyboardInterrupt

    assert target.read_text() == "old"
    assert list(target.parent.iterdir()) == [target]


def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with (
        pytest.raises(FileProblem, match=r"\.csv or \.parquet") as problem,
        open_table(tmp_path / "table.xlsx", SCHEMA),
    ):
        pytest.fail("the block must not run")

    assert problem.value.hint == "name the file table.parquet or table.csv"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(FileProblem, match="nowhere does not exist"),
        open_table(tmp_path / "nowhere" / "table.csv", SCHEMA),
    ):
        pytest.fail("the block must not run")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "table.csv"
    folder.mkdir()

    with pytest.raises(FileProblem, match="is a folder"), open_table(folder, SCHEMA):
        pytest.fail("the block must not run")


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    kept = tmp_path / "real" / "kept.csv"
    kept.write_text("old")
    link = tmp_path / "table.csv"
    link.symlink_to(Path("real") / "kept.csv")

    with open_table(link, SCHEMA) as table:
        table.write(batch(1.0))

    assert link.is_symlink()
    assert read(kept).num_rows == 1
    assert list(kept.parent.iterdir()) == [kept]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    link = tmp_path / "table.csv"
    link.symlink_to("new.csv")

    with open_table(link, SCHEMA) as table:
        table.write(batch(1.0))

    assert link.is_symlink()
    assert read(tmp_path / "new.csv").num_rows == 1


def test_a_link_into_nowhere_or_in_a_circle_is_refused(tmp_path: Path) -> None:
    astray, circle = tmp_path / "astray.csv", tmp_path / "circle.csv"
    astray.symlink_to(tmp_path / "nowhere" / "table.csv")
    circle.symlink_to(circle)

    for link, words in ((astray, "nowhere does not exist"), (circle, "not a regular file")):
        with pytest.raises(FileProblem, match=words), open_table(link, SCHEMA):
            pytest.fail("the block must not run")
        assert link.is_symlink()


def test_a_pipe_or_a_device_is_refused_and_stays(tmp_path: Path) -> None:
    pipe, device = tmp_path / "pipe.csv", tmp_path / "device.csv"
    os.mkfifo(pipe)
    device.symlink_to(os.devnull)

    for path in (pipe, device):
        with pytest.raises(FileProblem, match="not a regular file"), open_table(path, SCHEMA):
            pytest.fail("the block must not run")

    assert pipe.is_fifo()
    assert Path(os.devnull).is_char_device()
    assert sorted(tmp_path.iterdir()) == [device, pipe]


def test_a_full_disk_is_told_as_a_problem_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)

    with (
        pytest.raises(FileProblem, match=r"cannot write .*table\.csv: No space left"),
        open_table(tmp_path / "table.csv", SCHEMA) as table,
    ):
        table.write(batch(1.0))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)], ids=str)
def test_bytes_that_are_no_text_are_refused_as_csv_and_kept_as_parquet(
    tmp_path: Path, kind: pa.DataType
) -> None:
    raw = pa.RecordBatch.from_arrays([pa.array([b"\xff=", None], kind)], ["raw"])

    with (
        pytest.raises(FileProblem, match="column raw holds bytes that are not UTF-8") as caught,
        open_table(tmp_path / "table.csv", raw.schema) as table,
    ):
        table.write(raw)

    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []
    with open_table(tmp_path / "table.parquet", raw.schema) as table:
        table.write(raw)
    assert pyarrow.parquet.read_table(tmp_path / "table.parquet").to_batches() == [raw]


def test_small_batches_share_a_row_group(tmp_path: Path) -> None:
    target = tmp_path / "table.parquet"

    with open_table(target, SCHEMA) as table:
        for _ in range(100):
            table.write(batch(1.0, 2.0))

    assert pyarrow.parquet.read_metadata(target).num_row_groups == 1
