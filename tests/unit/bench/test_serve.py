from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

from alama.training.population.truth import Loans
from bench.serve import figures, machine, openloop, page, wrk
from bench.serve.ground import BODIES, NOBODY_YET, NotMeasurable, check_out, pinned, write_bodies
from bench.serve.openloop import Load, answered, requests_of, run
from bench.serve.options import parse
from bench.serve.server import ServerFailed, started
from bench.serve.subjects import EARLIER, SUBJECTS
from bench.serve.wrk import Run

pytestmark = pytest.mark.long

BODY = b'{"score": 700}'
OK = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(BODY), BODY)
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
CEILING = [
    *(sys.executable, "-m", "uvicorn", "bench.serve.ceiling:create_app", "--factory"),
    *("--port", "{port}", "--log-level", "warning"),
]


@pytest.fixture
def bodies(tmp_path: Path) -> Path:
    path = tmp_path / "bodies.jsonl"
    write_bodies(path)
    return path


@contextmanager
def one_at_a_time(reply: bytes, stall_s: float = 0.0) -> Iterator[int]:
    """Serve one connection, one request after the other; the first takes `stall_s` seconds."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            time.sleep(stall_s)
            while connection.recv(65_536):
                connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_bodies_are_many_different_people_with_all_fields(bodies: Path) -> None:
    lines = bodies.read_text().splitlines()
    assert len(set(lines)) == BODIES
    for line in lines:
        sent = json.loads(line)
        assert list(sent) == [field.name for field in fields(Loans)]
        assert None not in sent.values()


def test_every_request_names_somebody_new_where_its_body_has_the_mark_of_nobody(
    tmp_path: Path,
) -> None:
    path = tmp_path / "applicants.jsonl"
    write_bodies(path, lambda _: {"applicant_ref": NOBODY_YET})
    sent = requests_of(Load(1, 1_000.0, 0.5, 1, str(path), "key"))
    bodies = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in sent]
    assert len({body["applicant_ref"] for body in bodies}) == 500
    assert len({len(body["applicant_ref"]) for body in bodies}) == 1


def test_all_clients_know_the_mark_of_nobody() -> None:
    assert openloop.NOBODY_YET.decode() == NOBODY_YET
    assert NOBODY_YET.replace("-", "%-") in wrk.SCRIPT.read_text("utf-8")


def test_a_revision_that_git_does_not_know_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(NotMeasurable, match="git does not know never-was"):
        check_out("never-was", tmp_path / "earlier")


def test_a_round_goes_forth_and_the_next_one_back() -> None:
    assert figures.order("abc", 0) == ["a", "b", "c"]
    assert figures.order("abc", 1) == ["c", "b", "a"]


def test_a_single_error_voids_a_run() -> None:
    told = (
        'result {"requests":100,"microseconds":2000000,"bytes":9,"status":%d,'
        '"connect":0,"read":0,"write":0,"timeout":0}'
    )
    good = wrk.read(f"Running\n{told % 0}\n")
    assert good == Run(100, 2.0, {})
    assert good.rate == 50.0
    bad = wrk.read(told % 1)
    assert bad.errors == 1
    assert bad.rate is None


def test_ratios_are_taken_within_a_round() -> None:
    # The machine was twice as fast in the second round: both gained, the ratio did not.
    assert figures.ratio([100.0, 200.0], [10.0, 20.0]) == 10.0
    assert figures.ratio([100.0, 200.0], [10.0, None]) == 10.0
    assert figures.ratio([100.0], [None]) is None


def test_the_maximum_is_the_best_median_over_connections() -> None:
    assert figures.top_rate({"16": [1.0, 3.0, 2.0], "64": [4.0, None]}) == 4.0
    assert figures.top_rate({"16": [None]}) is None


def test_a_quantile_is_told_where_enough_requests_lie_beyond_it() -> None:
    assert list(figures.quantiles_ms([1_000] * 499)) == ["p50", "p90"]
    assert list(figures.quantiles_ms([1_000] * 500)) == ["p50", "p90", "p99"]
    assert figures.quantiles_ms([2_000] * 5_000)["p99.9"] == 2.0


def test_an_answer_is_whole_when_its_length_has_come() -> None:
    assert answered(OK[:20]) is None
    assert answered(OK[:-1]) is None
    assert answered(OK) == 200
    assert answered(BUSY) == 503
    with pytest.raises(ValueError, match="Content-Length"):
        answered(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")


def test_requests_that_had_to_wait_for_a_stalled_server_count_as_slow(bodies: Path) -> None:
    # A closed loop would report one slow request; here everyone due during the stall is late.
    with one_at_a_time(OK, stall_s=0.3) as port:
        heard = run(Load(port, 100.0, 0.5, 1, str(bodies), "key"))
    assert heard.errors == 0
    assert len(heard.latencies_us) == 50
    assert sum(latency > 100_000 for latency in heard.latencies_us) >= 15


def test_an_answer_that_is_no_success_is_an_error(bodies: Path) -> None:
    with one_at_a_time(BUSY) as port:
        heard = run(Load(port, 100.0, 0.1, 1, str(bodies), "key"))
    assert heard.errors == len(heard.latencies_us) == 10


def test_the_ceiling_is_started_loaded_by_the_clock_and_ended(bodies: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started("ceiling", CEILING, {"PYTHONPATH": "."}, bodies=bodies, log=log) as server:
        assert server.start_s > 0
        heard = run(Load(server.port, 200.0, 0.25, 4, str(bodies), server.key))
        if sys.platform == "linux":
            assert server.processor_s() > 0.05
            assert (server.memory_mb() or 0) > 10
    assert heard.errors == 0
    assert len(heard.latencies_us) == 50
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port)).close()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no model')"]
    with (
        pytest.raises(ServerFailed, match=r"(?s)broken ended with code 1.*no model"),
        started("broken", command, {}, bodies=tmp_path / "none", log=tmp_path / "log"),
    ):
        pass


def test_a_command_is_bound_to_a_core_where_there_is_one_to_choose() -> None:
    assert pinned(["wrk"], None) == ["wrk"]
    assert pinned(["wrk"], 1) == ["taskset", "--cpu-list", "1", "wrk"]


def test_a_write_to_the_disk_takes_time(tmp_path: Path) -> None:
    assert machine.sync_ms(tmp_path) > 0


def test_work_that_is_not_ours_is_told_apart() -> None:
    before, after = machine.Moment(10.0, 100.0), machine.Moment(13.0, 104.0)
    assert machine.share_of_others(before, after, ours_s=2.0) == 0.25
    assert machine.share_of_others(before, after, ours_s=3.1) == 0.0  # clocks tick apart
    assert machine.share_of_others(None, None, ours_s=1.0) is None


def test_a_run_that_leaves_somebody_out_is_not_published() -> None:
    assert parse(["full"]).kept
    assert not parse(["quick"]).kept
    assert EARLIER in parse(["full"]).names
    assert EARLIER not in parse(["full", "--earlier", "none"]).names
    chosen = parse(["full", "--only", "ceiling"])
    assert chosen.names == ("ceiling",)
    assert not chosen.kept


def measured() -> dict[str, object]:
    rates = {"fastapi": 400.0, "ceiling": 10_000.0, "alama": 5_000.0}
    latency = {
        "rate": 2_500.0,
        "requests": 900,
        "errors": 0,
        "ms": {"p50": 1.5, "p90": 2.5, "p99": 12.0},
        "client_late_ms": {"p50": 0.1, "p90": 0.2, "p99": 0.3},
    }
    subjects: dict[str, dict[str, object]] = {
        name: {"rates": {"16": [rate], "64": [rate]}, "processor_us": [99.0], "errors": 0}
        for name, rate in rates.items()
    }
    subjects["alama"]["latency"] = latency
    return {"subjects": subjects, "alone": {"requests": [0, 100], "memory_mb": [50.0, 51.0]}}


def test_what_was_aimed_at_is_held_against_what_was_measured() -> None:
    found = {aim.said: (aim.measured, aim.met) for aim in figures.aims(measured())}
    assert found == {
        "throughput of FastAPI + LightGBM + shap": (12.5, True),
        "share of the ceiling": (0.5, True),
        "p99 at half load": (12.0, False),
        "memory after 100 requests": (51.0, True),
    }


def test_the_page_tells_what_was_measured_and_leaves_the_rest_alone() -> None:
    marked = "".join(
        f"ours\n<!-- measured: {name} -->\nold\n<!-- end -->\n" for name in page.BLOCKS
    )
    document = measured()
    filled = page.filled(marked, {"subjects": document["subjects"]})
    assert filled.count("ours\n") == len(page.BLOCKS)
    assert "old" not in filled
    assert "| FastAPI + LightGBM + shap | 400 | 12 x | 400 | 12 x | 99 | 0 |" in filled
    assert "| 2,500 | 1.50 | 2.50 | 12.00 | too few | 900 |" in filled
    assert page.NOTHING in filled
    assert page.filled(filled, {"subjects": document["subjects"]}) == filled


def test_a_void_line_is_shown_as_void() -> None:
    document = {
        "subjects": {"alama": {"rates": {"16": [None]}, "processor_us": [None], "errors": 3}}
    }
    filled = page.filled("<!-- measured: serve, throughput -->\n<!-- end -->", document)
    assert "| void |  |  | 3 |" in filled


def test_every_block_has_its_place_on_the_page_of_benchmarks() -> None:
    text = (Path(__file__).parents[3] / "docs" / "generated" / "benchmarks.md").read_text("utf-8")
    assert [name for name in page.BLOCKS if f"<!-- measured: {name} -->" not in text] == []


def test_everyone_the_aims_speak_of_is_measured() -> None:
    assert {name for _, *names, _ in figures.RATIOS for name in names} <= set(SUBJECTS)
