"""The driver of the contract suite, by the public API alone: see ../contract/README.md.

`Sync` and `Async` do the same by the two clients.
"""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

import httpx

from alama_client import Alama, AlamaError, AsyncAlama, Scored, verify_webhook

Json = Any


def answer(line: dict[str, Json], way: type[Sync | Async]) -> dict[str, Json]:
    try:
        return {"id": line["id"], "ok": plain(way(line).do(line["do"], line["args"]))}
    except AlamaError as error:
        return {"id": line["id"], "error": told(error)}


def told(error: AlamaError) -> dict[str, Json]:
    return {
        "type": type(error).__name__,
        "code": error.code,
        "status": error.status,
        "request_id": error.request_id,
        "errors": [
            {"pointer": e.pointer, "code": e.code, "detail": e.detail} for e in error.errors
        ],
        "retry_after": error.retry_after,
    }


def plain(value: Json) -> Json:
    """An answer as JSON, made of what the SDK has typed."""
    if is_dataclass(value):
        members = [each.name for each in fields(value) if each.name != "raw"]
        return {name.rstrip("_"): plain(getattr(value, name)) for name in members}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


def plain_row(row: Scored) -> dict[str, Json]:
    if row.error is not None:
        return {"index": row.index, "error": told(row.error)}
    return {"index": row.index, "ok": plain(row.result())}


def verified(args: dict[str, Json]) -> dict[str, Json]:
    event = verify_webhook(args["body"].encode(), args["headers"], args["secrets"])
    members = {"id", "type", "timestamp", "raw"}
    data = {f.name: plain(getattr(event, f.name)) for f in fields(event) if f.name not in members}
    return {
        "event": type(event).__name__,
        "id": event.id,
        "type": event.type,
        "timestamp": event.timestamp.isoformat(),
        "data": {**event.raw["data"], **data},
    }


def scoring(args: dict[str, Json]) -> dict[str, Json]:
    return {name: args[name] for name in ("expand", "language", "idempotency_key") if name in args}


class Sync:
    def __init__(self, line: dict[str, Json]) -> None:
        self._alama = Alama(
            line["base_url"],
            line["key"],
            timeout=line["timeout_s"],
            total_timeout=line["total_s"],
            retries=line["retries"],
            traceparent=lambda: line["args"].get("traceparent"),
            http=httpx.Client(trust_env=False),
        )

    def do(self, what: str, args: dict[str, Json]) -> Json:
        alama = self._alama
        match what:
            case "score":
                return alama.score(args["application"], **scoring(args))
            case "score_many":
                rows = alama.score_many(args["applications"], in_order=args["in_order"])
                return [plain_row(row) for row in rows]
            case "list_scores":
                pages = alama.list_scores(
                    page_size=args["limit"], waiting=args.get("waiting", False)
                )
                return list(pages)
            case "verify_webhook":
                return verified(args)
            case "race":
                with ThreadPoolExecutor(args["n"]) as pool:
                    return list(pool.map(self._racer, [args] * args["n"]))
            case "delete_endpoint":
                return alama.delete_endpoint(args["id"])
            case "test_endpoint":
                return alama.test_endpoint(args["id"])
            case _:
                return getattr(alama, what)(**args)

    def _racer(self, args: dict[str, Json]) -> dict[str, Json]:
        try:
            return {"ok": plain(self.do("score", args))}
        except AlamaError as error:
            return {"error": told(error)}


class Async:
    def __init__(self, line: dict[str, Json]) -> None:
        self._line = line

    def do(self, what: str, args: dict[str, Json]) -> Json:
        return asyncio.run(self._do(what, args))

    async def _do(self, what: str, args: dict[str, Json]) -> Json:
        line = self._line
        async with (
            httpx.AsyncClient(trust_env=False) as http,
            AsyncAlama(
                line["base_url"],
                line["key"],
                timeout=line["timeout_s"],
                total_timeout=line["total_s"],
                retries=line["retries"],
                traceparent=lambda: line["args"].get("traceparent"),
                http=http,
            ) as alama,
        ):
            match what:
                case "score":
                    return await alama.score(args["application"], **scoring(args))
                case "score_many":
                    rows = alama.score_many(args["applications"], in_order=args["in_order"])
                    return [plain_row(row) async for row in rows]
                case "list_scores":
                    waiting = args.get("waiting", False)
                    pages = alama.list_scores(page_size=args["limit"], waiting=waiting)
                    return [each async for each in pages]
                case "verify_webhook":
                    return verified(args)
                case "race":
                    racers = [self._racer(alama, args) for _ in range(args["n"])]
                    return await asyncio.gather(*racers)
                case "delete_endpoint":
                    return await alama.delete_endpoint(args["id"])
                case "test_endpoint":
                    return await alama.test_endpoint(args["id"])
                case _:
                    return await getattr(alama, what)(**args)

    async def _racer(self, alama: AsyncAlama, args: dict[str, Json]) -> dict[str, Json]:
        try:
            return {"ok": plain(await alama.score(args["application"], **scoring(args)))}
        except AlamaError as error:
            return {"error": told(error)}


def main() -> None:
    way = Async if sys.argv[1] == "async" else Sync
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), way)), flush=True)  # noqa: T201  the protocol


if __name__ == "__main__":
    main()
