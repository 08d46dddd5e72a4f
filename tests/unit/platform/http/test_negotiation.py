"""Who names weights is given what weighs most, and whoever does not say gets JSON."""

import pytest

from alama.platform.http.negotiation import prefers_page

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "TEXT/HTML; charset=utf-8",
        "text/*",
        BROWSER,
        "application/json;q=0.5, text/html",
        "text/html;q=0.2, application/json;q=0.1",
        "text/html ; q=0.9, */*;q=0.8",
        "text/html, */*",
        "text/html, application/json",
        "text/html;level=1;q=0.3, application/json;q=0",
    ],
)
def test_a_page_is_for_whoever_would_rather_have_one(accept: str) -> None:
    assert prefers_page(accept.encode())


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        "application/json",
        "text/html;q=0.1, application/json",
        "application/json, text/html;q=0.1",
        "text/html;q=0, */*",
        "text/html;q=0.5, application/*",
        "text/html;q=0.5, */*",
        "application/json, text/html",
        "text/html;q=2",
        "text/html;q=",
        "text/html;q=0.1234, application/json;q=0.2",
        "text/html;q=1.1, application/json;q=0.2",
        "text/plain",
        "nottext/html",
        "text/htmlx",
        ",;,=;q",
        "image/png;q=1, text/html;q=0",
    ],
)
def test_json_is_for_everybody_else(accept: str) -> None:
    assert not prefers_page(accept.encode())
