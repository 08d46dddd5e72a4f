"""The served documents: cheap to ask for again, and a page that cannot say what is not so."""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from alama.app import openapi
from alama.core.product import PRODUCT
from alama.platform.http import endpoint, problem_codes
from alama.platform.http.documents import DocumentEndpoints
from alama.platform.http.reference import Reference
from tests.exchanges import Silent

DOCUMENT = openapi.document()
REFERENCE = Reference(DOCUMENT)
# Written so strictly that a parser of XML reads it.
PAGE = ET.fromstring(REFERENCE.html.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  our own text


def ask(path: str, **headers: str) -> httpx.Response:
    documents = DocumentEndpoints(openapi.document)
    application = endpoint.application([documents], lambda: 0, Silent())

    async def exchange() -> httpx.Response:
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url="http://alama") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(exchange())


def section(anchor: str) -> str:
    found = PAGE.find(f".//section[@id='{anchor}']")
    assert found is not None, anchor
    return "".join(found.itertext())


def leaves(value: Any) -> Iterator[Any]:
    """All single values of some JSON."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    else:
        yield value


# ------------------------------------------------------------------------------- serving


def test_the_document_is_served_as_the_command_line_prints_it() -> None:
    reply = ask("/openapi.json")
    assert reply.headers["content-type"] == "application/json"
    assert reply.content == openapi.encoded()


@pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/docs/problems/key_missing"])
def test_a_document_is_sent_once_and_then_asked_about(path: str) -> None:
    first = ask(path)
    assert first.headers["cache-control"] == "no-cache"
    assert (first.headers["content-encoding"], first.headers["vary"]) == ("gzip", "accept-encoding")
    plain = ask(path, **{"Accept-Encoding": "identity"})
    assert (plain.content, plain.headers["vary"]) == (first.content, "accept-encoding")
    etag = plain.headers["etag"]
    assert first.headers["etag"] == f"W/{etag}"
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        for coding, shown in (("gzip", f"W/{etag}"), ("identity", etag)):
            again = ask(path, **{"If-None-Match": known, "Accept-Encoding": coding})
            assert again.status_code == httpx.codes.NOT_MODIFIED
            assert again.content == b""
            assert again.headers["etag"] == shown
            assert again.headers["vary"] == "accept-encoding"
    assert ask(path, **{"If-None-Match": '"other"'}).content == first.content


def test_the_page_may_run_its_own_script_and_style_and_load_nothing() -> None:
    reply = ask("/docs")
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    for element in ("style", "script"):
        (inline,) = re.findall(f"<{element}>(.*?)</{element}>", reply.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy


def test_the_page_names_nothing_outside_itself_but_the_document_and_the_guide() -> None:
    named = [
        element.attrib[attribute]
        for element in PAGE.iter()
        for attribute in ("src", "href")
        if attribute in element.attrib
    ]
    assert [
        link for link in named if not re.match(r"#|openapi\.json$|docs/guide/$|data:,$", link)
    ] == []


# ------------------------------------------------------------------- the pages of problems


@pytest.mark.parametrize("code", problem_codes.PROBLEMS)
def test_the_type_of_a_problem_is_a_small_page_that_says_what_to_do(code: str) -> None:
    reply = ask(f"/docs/problems/{code}")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert len(reply.content) < 10_000
    page = ET.fromstring(reply.text.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  our own text
    written = "".join(page.itertext())
    meaning = problem_codes.PROBLEMS[code]
    status = openapi.problem_codes()[code]["status"]
    for told in (code, str(status), meaning.when, meaning.remedy):
        assert told.replace("`", "") in written
    (style,) = re.findall("<style>(.*?)</style>", reply.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = reply.headers["content-security-policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    # Seen from the page, so that it holds below any prefix; there the code has an anchor.
    links = [link.attrib["href"] for link in page.iter("a")]
    assert links == [f"../../docs#code-{code}", "../guide/errors.html"]
    assert PAGE.find(f".//*[@id='code-{code}']") is not None


def test_a_code_that_no_problem_has_is_no_page() -> None:
    reply = ask("/docs/problems/no_such_code")
    assert reply.status_code == httpx.codes.NOT_FOUND
    assert reply.json()["code"] == "not_found"
    assert "no_such_code" not in reply.json()["detail"]
    assert ask(reply.json()["type"]).status_code == httpx.codes.OK


# ------------------------------------------------------------------------------ the page


def test_every_link_inside_the_page_leads_somewhere() -> None:
    anchors = {element.attrib["id"] for element in PAGE.iter() if "id" in element.attrib}
    links = {a.attrib["href"][1:] for a in PAGE.iter("a") if a.attrib["href"].startswith("#")}
    assert links <= anchors


def test_the_menu_names_every_path_and_can_be_folded() -> None:
    (menu,) = PAGE.findall(".//nav/details")
    assert "open" in menu.attrib, "without a script it has to be seen"
    assert menu.find("summary") is not None
    assert {"".join(code.itertext()) for code in menu.findall(".//a/code")} == {
        f"{method.upper()} {path}"
        for path, methods in DOCUMENT["paths"].items()
        for method in methods
    }


def test_a_path_in_the_menu_is_broken_between_its_words() -> None:
    assert (
        "/v1<wbr/>/webhook_<wbr/>endpoints<wbr/>/{endpoint_<wbr/>id}<wbr/>/rotate_<wbr/>secret<"
    ) in REFERENCE.html


def test_every_operation_has_a_command_to_copy() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for told in methods.values():
            written = section(told["operationId"])
            start = path.partition("{")[0]
            assert re.search(
                rf"curl -s (-X [A-Z]+ )?http://localhost:8000{re.escape(start)}", written
            )
            assert ("Authorization: Bearer $KEY" in written) == bool(told["security"])
            assert told["summary"] in written


def test_the_bodies_of_the_commands_are_the_examples_of_the_document() -> None:
    examples = DOCUMENT["components"]["examples"]
    for anchor, name in (
        ("start", "compact"),
        ("createScore", "full"),
        ("explainApplication", "declined"),
    ):
        body = re.search(r"-d '(\{.*?\})'", section(anchor), re.DOTALL)
        assert body is not None
        assert json.loads(body[1]) == examples[name]["value"]


def test_every_field_of_a_request_is_told_in_both_spellings() -> None:
    written = section("request-fields")
    for field in PRODUCT.fields:
        assert field.name in written
        assert (field.other_spelling or "") in written
        assert field.meaning[1:] in written
    assert written.count("required") >= len(PRODUCT.core_names)


def test_how_wide_a_number_is_says_nothing_to_people() -> None:
    rules = ["".join(small.itertext()) for small in PAGE.iter("small")]
    assert any("0 to 600" in rule for rule in rules)
    assert [rule for rule in rules if re.search("int32|int64|double", rule)] == []


def test_every_field_of_the_reply_is_told() -> None:
    written = section("reply-fields")
    for name in DOCUMENT["components"]["schemas"]["ScoreReply"]["properties"]:
        assert name in written
    assert "shap_values[].contribution" in written
    assert "offer.price.margin" in written


def test_every_field_and_code_of_an_explanation_is_told() -> None:
    fields, codes = section("explainApplication"), section("explanation-codes")
    for path in ("counterfactuals[].changes[].from", "reasons[].text", "binding[].rule"):
        assert path in fields
    named = {code.text for code in PAGE.iterfind(".//section[@id='explainApplication']//code")}
    assert {"recommended_limit", "recommended_term_days", "recommended_apr", "rules"} <= named
    for code, meaning in problem_codes.OBSTACLES.items():
        assert code in codes
        assert meaning.when.replace("`", "") in codes
    for code, told in openapi.reason_codes().items():
        assert code in codes
        assert told["text"] in codes


def test_a_field_of_a_small_body_is_told_with_its_length_and_what_it_is_by_default() -> None:
    told = section("createWebhookEndpoint")
    assert "at most 2,048 characters" in told
    assert "at most 200 characters, empty by default" in told
    assert "false by default" in section("rotateWebhookSecret")


def test_what_a_receiver_gets_is_told_kind_by_kind() -> None:
    written = section("what-is-sent")
    for kind, told in DOCUMENT["webhooks"].items():
        (content,) = told["post"]["requestBody"]["content"].values()
        assert f"{kind}{told['post']['summary']}." in written
        assert f"always {kind}" in written
        for name, value in content["example"]["data"].items():
            assert f"data.{name}" in written
            assert all(json.dumps(leaf) in written for leaf in leaves(value))
        for header in told["post"]["parameters"]:
            assert header["name"] in written


def test_every_code_is_told_with_what_to_do() -> None:
    written = section("errors")
    for code, meaning in {**problem_codes.PROBLEMS, **problem_codes.FIELDS}.items():
        assert code in written
        assert meaning.when.replace("`", "") in written
        assert meaning.remedy.replace("`", "") in written


def test_nothing_that_the_document_says_in_prose_is_left_out() -> None:
    written = "".join(PAGE.itertext())
    told = [DOCUMENT["info"]["description"], DOCUMENT["components"]["securitySchemes"]["key"]]
    for paragraph in [*told[0].split("\n\n"), told[1]["description"]]:
        plain = re.sub(r"^\*\*.+?\*\* ", "", paragraph).replace("`", "")
        assert plain in written


def test_the_page_follows_the_document() -> None:
    changed = json.loads(openapi.encoded())
    changed["paths"]["/v1/score"]["post"]["summary"] = "Judge an application"
    changed["components"]["schemas"]["ScoreReply"]["properties"]["tier"]["description"] = "<b>&</b>"
    page = Reference(changed).html
    assert "Judge an application" in page
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in page
