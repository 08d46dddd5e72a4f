"""What the dashboard shows, a heading after the other; `tools.dashboard` draws it."""

from __future__ import annotations

from typing import Final, NamedTuple

WIDTH: Final = 24
"""Of a dashboard, in columns of Grafana's grid."""


class Query(NamedTuple):
    """What is asked of Prometheus, and what its lines are called."""

    expression: str
    legend: str = ""


class Panel(NamedTuple):
    """One picture; `doubtful` and `bad` are where its colour changes, if more is worse."""

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    width: int = 8
    doubtful: float | None = None
    bad: float | None = None


class Row(NamedTuple):
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


def _rate(metric: str, by: str = "", **labels: str) -> str:
    grouped = f" by ({by})" if by else ""
    chosen = "".join(f",{name}{value}" for name, value in labels.items())
    return f'sum{grouped} (rate({metric}{{instance=~"$instance"{chosen}}}[$__rate_interval]))'


def _or_none(expression: str) -> str:
    """Draw a line at 0 where nothing of the kind has happened yet."""
    return f"{expression} or vector(0)"


def _quantile(share: float, metric: str, **labels: str) -> str:
    return f"histogram_quantile({share}, {_rate(f'{metric}_bucket', 'le', **labels)})"


def _figure(aggregate: str, metric: str, by: str = "", labels: str = "") -> str:
    grouped = f" by ({by})" if by else ""
    return f'{aggregate}{grouped} ({metric}{{instance=~"$instance"{labels}}})'


SCORES: Final = '="/v1/score"'
FAILED: Final = '=~"5.."'

ROWS: Final = (
    Row(
        "At a glance",
        (
            Panel(
                "Scores a second",
                "Applications that were scored and kept.",
                "reqps",
                (Query(_rate("alama_requests_total", route=SCORES, status='="200"')),),
                "stat",
                4,
            ),
            Panel(
                "Failed",
                "Requests that were answered with a status of 500 or above, of all.",
                "percentunit",
                (
                    Query(
                        f"({_or_none(_rate('alama_requests_total', status=FAILED))}) / "
                        f"{_rate('alama_requests_total')}"
                    ),
                ),
                "stat",
                4,
                0.001,
                0.01,
            ),
            Panel(
                "95 % of scores within",
                "From the head of a request to its reply. A few milliseconds are usual.",
                "s",
                (Query(_quantile(0.95, "alama_request_seconds", route=SCORES)),),
                "stat",
                4,
                0.02,
                0.05,
            ),
            Panel(
                "Waiting to be kept",
                "Scores that the database has not yet taken. From 5000 in a process on, "
                "they are refused.",
                "short",
                (Query(_figure("sum", "alama_commit_waiting")),),
                "stat",
                4,
                500,
                5000,
            ),
            Panel(
                "Processes",
                "Those that serve, of all instances.",
                "short",
                (Query(_figure("sum", "alama_processes")),),
                "stat",
                4,
            ),
            Panel(
                "Version",
                "More than one while an upgrade is under way.",
                "short",
                (Query(_figure("count", "alama_build_info", "version"), "{{version}}"),),
                "stat",
                4,
            ),
        ),
    ),
    Row(
        "Traffic and errors",
        (
            Panel(
                "Requests",
                "Answered, by what was asked for.",
                "reqps",
                (Query(_rate("alama_requests_total", "route"), "{{route}}"),),
            ),
            Panel(
                "Answers",
                "By status. 2xx went well; 4xx is for the caller to put right: 401 a key that is "
                "not known, 422 an application that cannot be read, 429 more than its key may ask "
                "for; 5xx is for whoever runs the service.",
                "reqps",
                (Query(_rate("alama_requests_total", "status"), "{{status}}"),),
            ),
            Panel(
                "Refused and failed",
                "Keys that are not known, requests over the rate of their key, failures, and those "
                "of them that the database is to blame for; connections that were closed before "
                "their time, and why.",
                "reqps",
                (
                    Query(_or_none(_rate("alama_requests_total", status='="401"')), "key refused"),
                    Query(
                        _or_none(_rate("alama_requests_total", status='="429"')), "over the rate"
                    ),
                    Query(_or_none(_rate("alama_requests_total", status=FAILED)), "failed"),
                    Query(_rate("alama_unavailable_total"), "database away"),
                    Query(
                        _rate("alama_connections_dropped_total", "reason"), "connection: {{reason}}"
                    ),
                ),
            ),
        ),
    ),
    Row(
        "Latency",
        (
            Panel(
                "Scores, by duration",
                "How many took how long: a dark band is where most of them are.",
                "s",
                (
                    Query(
                        _rate("alama_request_seconds_bucket", "le", route=SCORES),
                        "{{le}}",
                    ),
                ),
                "heatmap",
                12,
            ),
            Panel(
                "Scores, half, 95 % and 99 % within",
                "From the head of a request to its reply.",
                "s",
                tuple(
                    Query(_quantile(share, "alama_request_seconds", route=SCORES), name)
                    for share, name in ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))
                ),
                width=12,
                doubtful=0.02,
                bad=0.05,
            ),
            Panel(
                "Everything, 95 % within, by route",
                "Explanations search, and reports add up: those take longer than scores.",
                "s",
                (
                    Query(
                        "histogram_quantile(0.95, "
                        f"{_rate('alama_request_seconds_bucket', 'route, le')})",
                        "{{route}}",
                    ),
                ),
                width=WIDTH,
            ),
        ),
    ),
    Row(
        "Database commits",
        (
            Panel(
                "Commits",
                "Transactions that scores are kept in, and those that failed.",
                "ops",
                (
                    Query(_rate("alama_commit_seconds_count"), "commits"),
                    Query(_rate("alama_commit_failures_total"), "failed"),
                ),
                width=6,
            ),
            Panel(
                "A commit takes",
                "Mostly the disk, or the way to the database.",
                "s",
                tuple(
                    Query(_quantile(share, "alama_commit_seconds"), name)
                    for share, name in ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))
                ),
                width=6,
            ),
            Panel(
                "Scores in a commit",
                "On average. It grows by itself under load: what arrives together shares one.",
                "short",
                (
                    Query(
                        f"{_rate('alama_commit_entries_sum')} / "
                        f"{_rate('alama_commit_entries_count')}",
                        "scores",
                    ),
                ),
                width=6,
            ),
            Panel(
                "Waiting, and asked again",
                "Scores that wait to be kept; and requests a second whose idempotency key had kept "
                "a score before, which got that one again.",
                "short",
                (
                    Query(_figure("sum", "alama_commit_waiting"), "waiting"),
                    Query(_rate("alama_commit_replays_total"), "asked again, a second"),
                ),
                width=6,
            ),
            Panel(
                "Journal of a SQLite file",
                "From 8 MB on it is copied into the file; from 64 MB on somebody who reads is in "
                "the way.",
                "bytes",
                (Query(_figure("max", "alama_journal_bytes"), "journal"),),
                width=12,
            ),
            Panel(
                "Disk of a SQLite file",
                "1 where it has failed: nothing is written until a checked restart.",
                "short",
                (Query(_figure("max", "alama_disk_failed"), "failed"),),
                width=12,
            ),
        ),
    ),
    Row(
        "Webhooks",
        (
            Panel(
                "Attempts",
                "To deliver an event: delivered, failed and tried again later, or given up.",
                "ops",
                (Query(_rate("alama_webhook_attempts_total", "outcome"), "{{outcome}}"),),
                width=6,
            ),
            Panel(
                "An attempt takes",
                "As long as its receiver does. After 15 s it has failed.",
                "s",
                (
                    Query(_quantile(0.5, "alama_webhook_attempt_seconds"), "half"),
                    Query(_quantile(0.95, "alama_webhook_attempt_seconds"), "95 %"),
                ),
                width=6,
            ),
            Panel(
                "On its way",
                "Events that no delivery was made of yet, and deliveries that are not over. No "
                "line where no worker runs.",
                "short",
                (Query(_figure("max", "alama_webhook_backlog", "of"), "{{of}}"),),
                width=6,
            ),
            Panel(
                "Lost to somebody",
                "Within the time shown: endpoints that are sent nothing more, and what was dropped "
                "after 30 days though nobody had it.",
                "short",
                (
                    Query(
                        "sum (increase(alama_webhook_endpoints_disabled_total"
                        '{instance=~"$instance"}[$__range]))',
                        "endpoints disabled",
                    ),
                    Query(
                        'sum (increase(alama_webhook_forgotten_total{instance=~"$instance"}'
                        "[$__range])) or vector(0)",
                        "forgotten",
                    ),
                ),
                "stat",
                6,
                1,
                10,
            ),
        ),
    ),
    Row(
        "Challengers",
        (
            Panel(
                "Scores shown to challengers",
                "Models that are asked beside the one that decides: scored, or failed where one "
                "had no answer.",
                "ops",
                (Query(_rate("alama_challenger_scores_total", "outcome"), "{{outcome}}"),),
                width=12,
            ),
            Panel(
                "Furthest behind",
                "How old the scores are that a challenger is asked about next.",
                "s",
                (Query(_figure("max", "alama_challenger_lag_seconds"), "behind"),),
                width=12,
                doubtful=600,
                bad=3600,
            ),
        ),
    ),
    Row(
        "Time",
        (
            Panel(
                "Leap",
                "By how much the time is off from what is trusted. Nothing is deleted meanwhile.",
                "s",
                (Query(_figure("max", "alama_clock_leap_seconds"), "leap"),),
                width=6,
                bad=1,
            ),
            Panel(
                "Clocks of hosts",
                "By how much the clock of an instance is off from that of the database.",
                "s",
                (Query(_figure("max", "alama_clock_host_seconds", "instance"), "{{instance}}"),),
                width=6,
                doubtful=30,
            ),
            Panel(
                "Deleted by retention",
                "Scores whose time is over.",
                "ops",
                (Query(_rate("alama_retention_deleted_total"), "deleted"),),
                width=6,
            ),
            Panel(
                "Retention waits",
                "Scores whose time is over, more than go by themselves: they wait for a person.",
                "short",
                (Query(_figure("max", "alama_retention_waiting"), "waiting"),),
                width=6,
                doubtful=1,
            ),
        ),
    ),
    Row(
        "Processes",
        (
            Panel(
                "That serve",
                "By instance. A process that dies is replaced at once.",
                "short",
                (Query(_figure("sum", "alama_processes", "instance"), "{{instance}}"),),
                width=12,
            ),
            Panel(
                "Started",
                "Within five minutes, by instance. Nobody restarted anything? Then they die: "
                "`worker_died` in the log says of what.",
                "short",
                (
                    Query(
                        "sum by (instance) (increase(alama_process_starts_total"
                        '{instance=~"$instance"}[5m]))',
                        "{{instance}}",
                    ),
                ),
                width=12,
            ),
        ),
    ),
)
