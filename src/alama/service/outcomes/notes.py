"""What an officer noted, as it is sealed: behind a salt, for the audit is to prove it.

The audit keeps a digest of the reason and the note under that salt. Once nobody can open the note,
nobody can hold a guess at either against the digest.
"""

from __future__ import annotations

from typing import NamedTuple

from alama.core.digest import SALT_BYTES, digest


class Noted(NamedTuple):
    """A note in clear, and its salt."""

    salt: bytes
    text: str

    @property
    def packed(self) -> bytes:
        """Both as one text, to be sealed."""
        return self.salt + self.text.encode()

    def digest(self, reason: str) -> str:
        """Give what the audit knows the reason and the note by."""
        return digest(self.salt, (reason,), self.text.encode()).hex()


def unpack(packed: bytes) -> Noted:
    """Read again what was packed; `ValueError` if it is none."""
    if len(packed) < SALT_BYTES:
        raise ValueError
    return Noted(packed[:SALT_BYTES], packed[SALT_BYTES:].decode())
