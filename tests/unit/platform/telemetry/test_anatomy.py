from __future__ import annotations

import errno

import msgspec
import pytest
from sqlalchemy import create_engine, exc, text

from alama.platform.telemetry.log import DEPTH_MAX, anatomy

VALUE = "0712345678"


def caught(error: BaseException) -> BaseException:
    with pytest.raises(type(error)) as info:
        _raise(error)
    return info.value


def _raise(error: BaseException) -> None:
    raise error


def test_type_and_place_are_told_and_the_message_is_not() -> None:
    (fault,) = anatomy(caught(ValueError(f"could not convert {VALUE}")))
    assert fault.type == "ValueError"
    assert fault.frames[-1].endswith(" _raise")
    assert ":" in fault.frames[-1]
    assert VALUE not in repr(fault)


def test_the_error_of_a_driver_keeps_its_parameters_to_itself() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(exc.OperationalError) as info:
        connection.execute(text("SELECT :phone FROM nowhere"), {"phone": VALUE})
    engine.dispose()
    assert VALUE in str(info.value)
    faults = anatomy(info.value)
    assert [fault.type for fault in faults] == [
        "sqlalchemy.exc.OperationalError",
        "sqlite3.OperationalError",
    ]
    assert faults[1].code == "SQLITE_ERROR"
    assert VALUE not in msgspec.json.encode(faults).decode()


def test_the_code_of_the_system_is_told_and_the_file_is_not() -> None:
    (fault,) = anatomy(caught(OSError(errno.ENOSPC, "No space left", f"/var/{VALUE}")))
    assert fault.code == "ENOSPC"
    assert VALUE not in repr(fault)


def test_a_code_that_is_none_is_not_told() -> None:
    error = ValueError()
    error.sqlstate = f"it was {VALUE}"  # type: ignore[attr-defined]
    (fault,) = anatomy(caught(error))
    assert fault.code is None


def test_causes_follow_and_what_was_hidden_stays_hidden() -> None:
    first = KeyError("first")
    second = ValueError("second")
    second.__cause__ = first
    hiding = TypeError("third")
    hiding.__context__ = second
    assert [fault.type for fault in anatomy(hiding)] == ["TypeError", "ValueError", "KeyError"]
    hiding.__suppress_context__ = True
    assert [fault.type for fault in anatomy(hiding)] == ["TypeError"]


def test_a_chain_that_bites_its_tail_has_an_end() -> None:
    first, second = KeyError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert len(anatomy(first)) == 2


def test_a_long_chain_is_cut() -> None:
    error = ValueError()
    for _ in range(DEPTH_MAX + 5):
        following = ValueError()
        following.__cause__ = error
        error = following
    assert len(anatomy(error)) == DEPTH_MAX
