"""Writes deploy/observability/dashboard.json, as `tools.dashboard_panels` declares it.

    .venv/bin/python -m tools.dashboard

Grafana's own JSON takes sixty lines for a panel, most of them always the same. A test holds the two
together.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tools.dashboard_panels import ROWS, WIDTH

if TYPE_CHECKING:
    from tools.dashboard_panels import Panel

WRITTEN: Final = Path(__file__).parent.parent / "deploy" / "observability" / "dashboard.json"

ROW_HEIGHT: Final = 1
SMALL_HEIGHT: Final = 4
HEIGHT: Final = 8

SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}

GOOD: Final = "green"
DOUBTFUL: Final = "orange"
BAD: Final = "red"


def dashboard() -> dict[str, Any]:
    """Give all of it as Grafana imports it."""
    return {
        "title": "Alama",
        "description": "Scores, how fast they are given and kept, and what is sent to webhooks. "
        "docs/logs-and-metrics.md explains every figure.",
        "tags": ["alama"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [_datasource(), _instance()]},
        "panels": _laid_out(),
    }


def _datasource() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "refresh": 1,
    }


def _instance() -> dict[str, Any]:
    query = "label_values(alama_build_info, instance)"
    return {
        "name": "instance",
        "label": "Instance",
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "instance"},
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": ["All"], "value": ["$__all"]},
        "refresh": 2,
        "sort": 1,
    }


def _laid_out() -> list[dict[str, Any]]:
    """Place row under row, and in each panel beside panel until its width is used up."""
    placed: list[dict[str, Any]] = []
    top = 0
    for row in ROWS:
        placed.append(
            {
                "id": len(placed) + 1,
                "type": "row",
                "title": row.title,
                "collapsed": False,
                "panels": [],
                "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": ROW_HEIGHT},
            }
        )
        top, left = top + ROW_HEIGHT, 0
        height = SMALL_HEIGHT if all(panel.kind == "stat" for panel in row.panels) else HEIGHT
        for panel in row.panels:
            if left + panel.width > WIDTH:
                top, left = top + height, 0
            place = {"x": left, "y": top, "w": panel.width, "h": height}
            placed.append({"id": len(placed) + 1, **_drawn(panel), "gridPos": place})
            left += panel.width
        top += height
    return placed


def _drawn(panel: Panel) -> dict[str, Any]:
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": SOURCE,
                "expr": query.expression,
                "legendFormat": query.legend or "__auto",
                "format": "heatmap" if panel.kind == "heatmap" else "time_series",
                "instant": False,
                "range": True,
            }
            for number, query in enumerate(panel.queries)
        ],
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "color": {"mode": "thresholds" if panel.kind == "stat" else "palette-classic"},
                "thresholds": {"mode": "absolute", "steps": _steps(panel)},
                "custom": _custom(panel),
            },
            "overrides": [],
        },
        "options": _options(panel),
    }


def _steps(panel: Panel) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = [{"color": GOOD, "value": None}]
    if panel.doubtful is not None:
        steps.append({"color": DOUBTFUL, "value": panel.doubtful})
    if panel.bad is not None:
        steps.append({"color": BAD, "value": panel.bad})
    return steps


def _custom(panel: Panel) -> dict[str, Any]:
    if panel.kind != "timeseries":
        return {}
    drawn: dict[str, Any] = {"fillOpacity": 10, "lineWidth": 1, "showPoints": "never"}
    if panel.bad is not None:
        drawn["thresholdsStyle"] = {"mode": "dashed"}
    return drawn


def _options(panel: Panel) -> dict[str, Any]:
    match panel.kind:
        case "stat":
            several = any(query.legend for query in panel.queries)
            return {
                "colorMode": "value",
                "graphMode": "area",
                "textMode": "value_and_name" if several else "value",
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            }
        case "heatmap":
            return {
                "calculate": False,
                "cellGap": 1,
                "color": {"mode": "scheme", "scheme": "Blues", "steps": 32},
                "yAxis": {"unit": panel.unit},
                "tooltip": {"mode": "single", "yHistogram": False},
                "legend": {"show": True},
            }
        case _:
            return {
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }


def text() -> str:
    """Give it as it is written."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    WRITTEN.write_text(text(), encoding="utf-8")
