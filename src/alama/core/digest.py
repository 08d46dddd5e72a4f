"""The digest by which the audit knows a score: covers all that is kept, and gives nothing away."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec

SALT_BYTES: Final = 16

_encode: Final = msgspec.msgpack.Encoder().encode


def digest(salt: bytes, columns: tuple[str | int | float, ...], record: bytes) -> bytes:
    """SHA-256 of the salt, of a score's columns in clear and of its record.

    Without the salt, which is sealed with the record, nobody can hold a guess against it. Columns
    are in the order in which the database has them, as one MessagePack array.
    """
    return sha256(b"".join((salt, _encode(columns), record))).digest()
