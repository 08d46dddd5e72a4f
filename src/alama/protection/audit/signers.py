"""Who may have signed: the keys of an installation, by the ids under which entries name them.

A public key counts if its private half comes out of the vault: who can write into the database can
put a key there, but cannot wrap it. Of a key that was rotated the private half is destroyed, and
nobody can sign with it any more; so the key that follows it vouches for its public half, and the
act of the rotation has both. What stands in the column `public` is never relied on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from alama.core.chain import MAIN, Signer
from alama.platform.acts import RETIRES, VOUCHED, Act, ActKind
from alama.protection.audit.store import Trail, newest_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.vault.vault import Vault


_LABEL: Final = b"alama vouches for the signing key "


class PublicKeys:
    """Verifies signatures; see `alama.core.chain.Signatures`."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        """Take Ed25519 keys of 32 bytes by their ids."""
        self._keys = {name: Ed25519PublicKey.from_public_bytes(key) for name, key in keys.items()}

    def __contains__(self, signer: object) -> bool:
        return signer in self._keys

    def verifies(self, signer: str, signature: bytes, message: bytes) -> bool:
        """Say whether the signer is known and has signed this message."""
        key = self._keys.get(signer)
        if key is None:
            return False
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def trusted_keys(trail: Trail, vault: Vault) -> PublicKeys:
    """Give all keys that ever signed for the installation and stand there as they are.

    One whose public half was changed is left out: whoever is shown what stands there would trust
    what somebody else signs.
    """
    return PublicKeys(Signers(trail, vault).unchanged)


class Signers:
    """The keys that are said to sign for an installation, and those of them that may."""

    def __init__(self, trail: Trail, vault: Vault) -> None:
        keys = vault.signing_keys()
        self._there = {key.id: key.public for key, _ in keys}
        self._true = {key.id: public for key, public in keys if public is not None}
        rotations = _rotations(trail)
        for act in rotations:
            self._true |= _vouched(act, PublicKeys(self._true))
        self._keys = PublicKeys(self._true)
        self._spoken_of = {str(act.subject) for act in rotations}
        self._spoken_of |= {str(act.details.get(RETIRES)) for act in rotations}
        begun = trail.links(MAIN, 0, 1)
        # Where no act is left, none can speak of a key: that is no proof against any.
        self._spoken_of |= {begun[0].signer} if begun else self._there.keys()

    @property
    def unchanged(self) -> dict[str, bytes]:
        """Those that may sign and whose public half stands where it should, by their ids."""
        return {name: key for name, key in self._true.items() if self._there.get(name) == key}

    @property
    def changed(self) -> dict[str, bytes]:
        """The public halves that should stand there and do not, by the ids of their keys."""
        return {name: key for name, key in self._true.items() if self._there.get(name) != key}

    @property
    def foreign(self) -> list[str]:
        """Those that somebody else has put there: none of ours was ever called so."""
        return sorted(self._there.keys() - self._true.keys() - self._spoken_of)

    @property
    def damaged(self) -> list[str]:
        """Those of ours of which neither half can be relied on."""
        return sorted((self._there.keys() & self._spoken_of) - self._true.keys())

    def knows(self, signer: str) -> bool:
        """Say whether it can be told what a key has signed; without either half it cannot.

        One that is foreign is known too: what it has signed does not hold.
        """
        return signer in self._true or signer in self.foreign

    def verifies(self, signer: str, signature: bytes, message: bytes) -> bool:
        """Say whether a key that may has signed this message."""
        return self._keys.verifies(signer, signature, message)


def vouch(signer: Signer, key_id: str, public: bytes) -> str:
    """Have a new key say that another has signed for the same installation before it.

    Gives the public half of that one and the signature. Its private half is about to be destroyed,
    and what stands in the database alone might be changed.
    """
    return f"{public.hex()} {signer.sign(_statement(key_id, public)).hex()}"


def _rotations(trail: Trail) -> list[Act]:
    """Give the acts by which keys that sign were replaced, the latest first.

    In this order each key vouches for the one before it.
    """
    kind = ActKind.SIGNING_KEY_ROTATED
    return [
        done.act
        for done in newest_first(trail, None)
        if done.kind == kind and done.act is not None and done.act.kind is kind
    ]


def _vouched(act: Act, trusted: PublicKeys) -> dict[str, bytes]:
    key_id, vouched = str(act.details.get(RETIRES)), str(act.details.get(VOUCHED))
    try:
        public, signature = map(bytes.fromhex, vouched.split(" "))
    except ValueError:
        return {}
    said = trusted.verifies(str(act.subject), signature, _statement(key_id, public))
    return {key_id: public} if said else {}


def _statement(key_id: str, public: bytes) -> bytes:
    return _LABEL + key_id.encode() + b" " + public
