"""What webhooks need from a database. Every method may raise `StoreUnavailable`."""

from __future__ import annotations
