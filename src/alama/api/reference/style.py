"""What the reference adds to the style sheet of every page."""

from __future__ import annotations

from typing import Final

SHEET: Final = """
:root { --code: #f6f7f9; --get: #2b6cb0; --post: #20794a; --text: #20794a; --shade: #0000000d; }
@media screen and (prefers-color-scheme: dark) {
  :root { --code: #10141a; --get: #63a4e8; --post: #5cc389; --text: #7fd1a3; --shade: #00000055; }
}
html { scroll-padding-top: 16px; }
.pair { grid-template-columns: repeat(auto-fit, minmax(min(100%, 500px), 1fr)); }
header { border-bottom: 1px solid var(--rule); max-width: none; margin-bottom: 12px;
  background: var(--panel); padding: 44px max(28px, calc((100vw - 1344px) / 2)) 30px; }
.columns, footer { max-width: 1400px; }
header .lead { font-size: 1.1rem; max-width: 50em; margin: 10px 0 0; }
header .links { margin: 14px 0 0; font-size: 0.92rem; display: flex; gap: 6px 22px;
  flex-wrap: wrap; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
p code, li code, td code, small code, dd code, summary code { font-size: 0.88em;
  background: var(--panel); border-radius: 4px; padding: 1px 4px; overflow-wrap: break-word; }
th code { font-size: 0.88em; font-weight: 600; white-space: nowrap; }
nav .group { font-weight: 600; color: var(--ink); padding: 12px 0 2px 12px; font-size: 0.82rem; }
nav ol .group:first-child { padding-top: 0; }
nav summary { display: none; }
nav a code { display: block; font-size: 0.78rem; font-weight: 400; background: none; padding: 0; }
nav a code b { font-weight: 600; }
nav a { overflow-wrap: break-word; line-height: 1.35; }
nav a.here { color: var(--accent); box-shadow: -2px 0 0 var(--accent); font-weight: 600; }
section { padding-top: 26px; }
.operation h2 { display: flex; align-items: baseline; gap: 4px 12px; flex-wrap: wrap; }
.operation h2 .say { flex-basis: 100%; }
.operation h2 code { font-size: 0.92rem; font-weight: 500; overflow-wrap: anywhere;
  color: var(--soft); }
.method { font: 700 0.74rem/1.6 ui-monospace, Menlo, Consolas, monospace; border-radius: 5px;
  padding: 0 7px; border: 1px solid currentColor; letter-spacing: 0.04em; }
.method.get { color: var(--get); }
.method.post, .method.patch { color: var(--post); }
.method.delete { color: var(--bad); }
.badge.must { border-color: var(--bad); color: var(--bad); }
th .badge { font-weight: 500; margin-left: 8px; }
figure.code { margin: 14px 0; border: 1px solid var(--rule); border-radius: 8px; overflow: hidden;
  background: var(--code); box-shadow: 0 1px 3px var(--shade); }
figure.code figcaption { display: flex; justify-content: space-between; align-items: center;
  gap: 12px; padding: 5px 12px; border-bottom: 1px solid var(--rule); font-size: 0.8rem;
  min-height: 36px; background: var(--panel); }
figure.code pre { margin: 0; padding: 12px 14px; overflow: auto; font-size: 0.8rem;
  line-height: 1.55; max-height: 42rem; tab-size: 2; }
figure.code pre:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
button { font: 600 0.76rem/1.5 system-ui, sans-serif; color: var(--accent); cursor: pointer;
  background: var(--paper); border: 1px solid var(--rule); border-radius: 6px; padding: 2px 10px;
  flex: none; }
button:hover { border-color: var(--accent); }
.j-name { color: var(--accent); }
.j-text { color: var(--text); }
.j-number { color: var(--bad); }
table.told { width: 100%; margin: 12px 0; }
table.told th, table.told td { padding: 8px 18px 8px 0; }
table.told tbody th { min-width: 11em; }
table.told td:last-child, table.told th:last-child { padding-right: 0; }
table.told td small { margin-top: 1px; }
table.told td code, p code { overflow-wrap: anywhere; }
table.told tr:has(:target) { background: var(--panel); }
.refusals { list-style: none; margin: 8px 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: 6px 8px; }
.refusals a { display: inline-block; border: 1px solid var(--rule); border-radius: 99px;
  padding: 1px 10px; font-size: 0.82rem; text-decoration: none; color: var(--ink); }
.refusals a:hover { border-color: var(--accent); }
.refusals b { color: var(--bad); font-weight: 600; }
details > summary { padding: 4px 0; }
@media (max-width: 860px) {
  header { padding: 28px 16px 20px; }
  nav ol { columns: 1; display: flex; flex-wrap: wrap; gap: 2px 14px; }
  nav .group { flex-basis: 100%; padding-left: 0; }
  nav a.here { box-shadow: none; }
  nav a code { display: inline; margin-left: 6px; }
  nav summary { display: list-item; cursor: pointer; font-weight: 600; }
}
@media (max-width: 700px) {
  table.told, table.told tbody, table.told tr, table.told th, table.told td { display: block;
    border: 0; }
  table.told thead { display: none; }
  table.told tr { border-bottom: 1px solid var(--rule); padding: 10px 0; }
  table.told th, table.told td, table.told tbody th { padding: 0; min-width: 0; }
  table.told tbody th { margin-bottom: 3px; }
  th code { white-space: normal; overflow-wrap: anywhere; }
  table.told td { display: grid; grid-template-columns: 8.5em minmax(0, 1fr); gap: 8px;
    padding: 1px 0; }
  table.told td::before { content: attr(data-head); color: var(--soft); font-size: 0.82rem;
    padding-top: 2px; }
  table.told td.empty { display: none; }
}
@media print {
  button { display: none; }
  nav details { display: block; }
  header { background: none; }
  figure.code pre { max-height: none; white-space: pre-wrap; }
}
"""
