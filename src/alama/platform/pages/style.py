"""The style sheets of pages. Blue and orange stay apart for every kind of colour vision."""

from __future__ import annotations

from typing import Final

SHEET: Final = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --panel: #f6f7f9; --ink: #1b2230; --soft: #5a6475; --rule: #d9dee6;
  --grid: #e8ebf0; --good: #2b6cb0; --bad: #d1661f; --crowd: #dfe4ec; --accent: #1f4e8c;
  --tone-a: #2b6cb0; --tone-b: #d1661f; --tone-c: #6b7280; --tone-d: #7b4fa3;
  --open: #b9c2cf; --before: #8791a1;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14181f; --panel: #1c222c; --ink: #e6eaf0; --soft: #9aa5b5; --rule: #323b49;
    --grid: #262e3a; --good: #63a4e8; --bad: #f0914e; --crowd: #2c3543; --accent: #8fbdf2;
    --tone-a: #63a4e8; --tone-b: #f0914e; --tone-c: #9aa5b5; --tone-d: #b998dc;
    --open: #56627a; --before: #7f8b9e;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
header, .columns, footer { max-width: 1240px; margin: 0 auto; padding: 0 28px; }
header { padding-top: 40px; padding-bottom: 8px; }
header h1 { font-size: 2.1rem; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
header .kicker { color: var(--soft); margin: 0 0 4px; font-size: 0.9rem; }
header .lead { font-size: 1.12rem; max-width: 62em; margin: 8px 0 4px; }
header .id { color: var(--soft); font: 0.8rem/1.4 ui-monospace, Menlo, Consolas, monospace;
  overflow-wrap: anywhere; margin: 4px 0 18px; }
.columns { display: grid; grid-template-columns: 200px minmax(0, 1fr); gap: 44px; }
nav { position: sticky; top: 0; align-self: start; padding: 26px 0; font-size: 0.9rem;
  max-height: 100vh; overflow: auto; }
nav h2 { font-size: 0.78rem; text-transform: uppercase; letter-spacing: 0.08em;
  color: var(--soft); margin: 0 0 8px; border: 0; padding: 0; }
nav ol { list-style: none; margin: 0; padding: 0; border-left: 2px solid var(--rule); }
nav li { margin: 0; }
nav a { display: block; padding: 3px 0 3px 12px; color: var(--soft); text-decoration: none; }
nav a:hover, nav a:focus { color: var(--accent); }
a { color: var(--accent); }
section { padding-top: 20px; margin-bottom: 26px; }
h2 { font-size: 1.42rem; line-height: 1.25; margin: 0 0 10px; padding-bottom: 6px;
  border-bottom: 1px solid var(--rule); }
h3 { font-size: 1.08rem; margin: 26px 0 6px; }
h4 { font-size: 0.98rem; margin: 0 0 2px; overflow-wrap: anywhere; }
p { margin: 8px 0; max-width: 46em; }
.findings { background: var(--panel); border-left: 3px solid var(--accent); margin: 14px 0;
  padding: 10px 18px 10px 34px; }
.findings li { margin: 3px 0; }
.note, figcaption { color: var(--soft); font-size: 0.9rem; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 8px 0 14px; }
.tile { flex: 1 1 136px; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 8px; padding: 12px 14px; }
.tile p { margin: 0; }
.tile-name { font-size: 0.85rem; color: var(--soft); }
.tile .tile-figure { font-size: 1.9rem; font-weight: 650; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.tile-interval { font-size: 0.8rem; color: var(--soft); }
.tile .tile-meaning { font-size: 0.88rem; line-height: 1.4; margin-top: 8px; }
figure { margin: 14px 0; }
.chart { display: block; height: auto; max-width: 100%; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr));
  gap: 18px 34px; align-items: start; margin: 10px 0; }
.pair > * { min-width: 0; margin: 0; }
.card { break-inside: avoid; }
.meaning { color: var(--soft); font-size: 0.86rem; margin: 0 0 4px; }
.badge { font-size: 0.74rem; font-weight: 500; border: 1px solid var(--rule); color: var(--soft);
  border-radius: 99px; padding: 1px 8px; margin-left: 6px; white-space: nowrap; }
.key { margin-right: 16px; white-space: nowrap; }
.swatch { vertical-align: -1px; }
.badge.proven { border-color: var(--good); color: var(--good); }
.wide { overflow-x: auto; }
@media screen and (max-width: 620px) { .wide .chart { width: 600px; max-width: none; } }
.look { list-style: none; margin: 12px 0; padding: 0; }
.look li { background: var(--panel); border-left: 3px solid var(--rule); margin: 8px 0;
  padding: 10px 16px; break-inside: avoid; }
.look li.act { border-left-color: var(--bad); }
.look li.watch { border-left-color: var(--tone-d); }
.look p { margin: 0; max-width: 62em; }
.look p + p { color: var(--soft); font-size: 0.92rem; margin-top: 3px; }
.look .badge { margin: 0 8px 0 0; }
.badge.act { border-color: var(--bad); color: var(--bad); }
.badge.watch { border-color: var(--tone-d); color: var(--tone-d); }
.scroll { overflow-x: auto; margin: 12px 0; }
table { border-collapse: collapse; font-size: 0.9rem; min-width: 50%; }
caption { text-align: left; color: var(--soft); padding-bottom: 6px; }
th, td { padding: 5px 16px 5px 0; text-align: left; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; font-size: 0.82rem; vertical-align: bottom; }
tbody th { font-weight: 500; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
thead .number { white-space: normal; }
td small { display: block; color: var(--soft); font-size: 0.78rem; }
details { margin: 4px 0 10px; }
summary { cursor: pointer; color: var(--soft); font-size: 0.84rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 22px;
  margin: 10px 0; font-size: 0.92rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: 0.84rem; padding-top: 14px; padding-bottom: 40px;
  overflow-wrap: anywhere; }
@media (max-width: 860px) {
  .columns { display: block; }
  nav { position: static; max-height: none; padding: 8px 0; }
  nav ol { columns: 2; border-left: 0; }
  nav a { padding-left: 0; }
  header, .columns, footer { padding-left: 16px; padding-right: 16px; }
  header h1 { font-size: 1.6rem; }
}

svg text { fill: var(--ink); font: 12px system-ui, -apple-system, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; }
svg .label { fill: var(--soft); }
svg .small { font-size: 11px; }
svg .caption { fill: var(--soft); font-size: 12px; }
svg .figure { font-size: 11px; font-weight: 600; paint-order: stroke; stroke: var(--paper);
  stroke-width: 3px; stroke-linejoin: round; }
svg .tiny { font-size: 9px; }
svg .cell { font-weight: 500; stroke: none; }
svg .strong-good { fill: var(--good); font-weight: 600; }
svg .strong-bad { fill: var(--bad); font-weight: 600; }
svg line, svg path { fill: none; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .reference { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 4; }
svg .limit { stroke: var(--bad); stroke-width: 1; stroke-dasharray: 3 3; }
svg .curve { stroke-width: 2.2; stroke-linejoin: round; }
svg .curve.tone-a { stroke: var(--tone-a); }
svg .curve.tone-b { stroke: var(--tone-b); stroke-dasharray: 7 3; }
svg .curve.tone-c { stroke: var(--tone-c); stroke-dasharray: 2 3; }
svg .curve.tone-d { stroke: var(--tone-d); stroke-dasharray: 9 3 2 3; }
svg .point.tone-a { fill: var(--tone-a); }
svg .point.tone-b { fill: var(--tone-b); }
svg .point.tone-c { fill: var(--tone-c); }
svg .point.tone-d { fill: var(--tone-d); }
svg .dot { fill: var(--good); stroke: var(--paper); stroke-width: 1.2; }
svg .dot-off { fill: var(--bad); stroke: var(--paper); stroke-width: 1.2; }
svg .dot-few { fill: var(--paper); stroke: var(--good); stroke-width: 1.4; }
svg .whisker-off { stroke: var(--bad); stroke-width: 1.6; opacity: 0.85; }
svg .predicted { stroke: var(--ink); stroke-width: 2.4; }
svg .limit-mark { stroke: var(--ink); stroke-width: 2; }
svg .young { fill: var(--panel); }
svg .whisker { stroke: var(--good); stroke-width: 1.6; opacity: 0.75; }
svg .step { stroke: var(--good); stroke-width: 2.4; stroke-linejoin: round; }
svg .step-missing { stroke: var(--bad); stroke-width: 2.4; }
svg .crowd { fill: var(--crowd); }
svg .bar-good, svg .cell-up { fill: var(--good); }
svg .bar-bad, svg .cell-down { fill: var(--bad); }
svg .bar-plain { fill: var(--good); opacity: 0.85; }
svg .cell-ground { fill: var(--panel); }
svg .cell-same { fill: var(--soft); }
svg .part-approved { fill: var(--good); }
svg .part-review { fill: var(--open); }
svg .part-declined { fill: var(--bad); }
svg .on-part { fill: var(--paper); font-size: 11px; font-weight: 600; }
svg .on-part-review { fill: var(--ink); font-size: 11px; font-weight: 600; }
svg .before { fill: var(--before); }
svg .after { fill: var(--good); }
svg .was { stroke: var(--before); stroke-width: 1.2; stroke-dasharray: 3 3; }
svg .would { stroke: var(--good); stroke-width: 1.4; }
svg .rise { stroke: var(--good); stroke-width: 3; opacity: 0.45; }
svg .fall { stroke: var(--bad); stroke-width: 3; opacity: 0.55; }

@media not print { .paper { display: none; } }
@media print {
  @page { size: A4; margin: 16mm 14mm; }
  html { scroll-behavior: auto; }
  body { font-size: 10pt; }
  header, .columns, footer { max-width: none; padding-left: 0; padding-right: 0; }
  header { padding-top: 0; }
  .columns { display: block; }
  nav { position: static; max-height: none; padding: 4px 0 10px; }
  nav ol { columns: 3; border-left: 0; }
  nav a { padding: 1px 0; }
  .pair { grid-template-columns: 1fr 1fr; gap: 8px 18px; }
  .pair.groups { grid-template-columns: 1fr; }
  .tiles { gap: 8px; }
  .tile { flex-basis: 30%; break-inside: avoid; }
  h2, h3, h4, section > p { break-after: avoid; }
  p, ul, dl { break-inside: avoid; }
  p { orphans: 3; widows: 3; }
  figure, tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  details, .screen { display: none; }
  footer { break-before: avoid; padding-bottom: 0; }
  table { font-size: 8.5pt; }
  th, td { padding: 3px 12px 3px 0; }
  a { color: inherit; text-decoration: none; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""


HANDOUT: Final = """
.handout { max-width: 800px; margin: 0 auto; padding: 30px 20px 40px; }
.handout header, .handout footer { max-width: none; padding: 0; }
.handout header h1 { font-size: 1.75rem; margin: 2px 0 4px; }
.handout header .lead { margin: 0; }
.handout section { padding-top: 0; margin: 22px 0 0; }
.handout h2 { font-size: 1.12rem; margin-bottom: 8px; padding-bottom: 3px; }
.handout p { max-width: none; margin: 4px 0; }
.handout figure { margin: 6px 0; }
.handout dl.blanks { display: flex; flex-wrap: wrap; gap: 6px 24px; margin: 16px 0 0; }
.blanks div { flex: 1 1 150px; display: flex; gap: 8px; align-items: flex-end; }
.blanks div.wide { flex-grow: 2.2; }
.blanks div.long { flex-basis: 100%; }
.blanks dt { white-space: nowrap; }
.blanks dd { flex: 1; min-width: 0; min-height: 1.7em; border-bottom: 1px solid var(--soft); }
.reasons { margin: 0; padding-left: 1.5em; }
.reasons li { margin: 3px 0; padding-left: 4px; }
.keys { display: flex; flex-wrap: wrap; gap: 2px 20px; color: var(--soft); font-size: 0.9rem;
  margin: 0; }
.keys svg { vertical-align: -1px; margin-right: 6px; }
table.points { width: 100%; table-layout: fixed; }
.points th, .points td { padding: 0; border-bottom: 1px solid var(--grid);
  vertical-align: middle; }
.points th { font-weight: 400; width: 57%; padding: 2px 8px 2px 0; }
.points th span { color: var(--soft); display: inline-block; }
.points .number { width: 11%; padding-right: 12px; }
.points tr.total th, .points tr.total td { font-weight: 650; }
.points svg { display: block; overflow: visible; }
.way { display: grid; grid-template-columns: minmax(0, 1.25fr) minmax(0, 1fr);
  grid-template-rows: auto 1fr; gap: 4px 30px;
  border: 1px solid var(--rule); border-radius: 8px; padding: 8px 16px 10px; margin: 10px 0;
  break-inside: avoid; }
.way h3 { font-size: 0.95rem; margin: 0; }
.way > div { grid-column: 2; grid-row: 1 / span 2; }
.way h3 span { font-weight: 400; color: var(--soft); }
.way ul { list-style: none; margin: 0; padding: 0; }
.way li + li { margin-top: 6px; }
.way li, .way p { line-height: 1.4; }
.strip { overflow: visible; }
.handout footer { font-size: 0.75rem; margin-top: 24px; padding-top: 6px;
  border-top: 1px solid var(--rule); }
.handout footer p { margin: 1px 0; }
.promise { break-inside: avoid; }

svg .tier-approved { fill: var(--good); stroke: var(--paper); stroke-width: 1.5; }
svg .tier-review { fill: var(--open); stroke: var(--paper); stroke-width: 1.5; }
svg .tier-declined { fill: var(--paper); stroke: var(--soft); stroke-width: 1; }
svg .on-tier-approved { fill: var(--paper); font-weight: 650; }
svg .on-tier-review, svg .on-tier-declined { fill: var(--ink); font-weight: 650; }
svg .pin-label { font-size: 18px; font-weight: 700; }
svg .label-after { font-weight: 650; }
svg .crowd-row { stroke: var(--open); stroke-width: 3.5; stroke-linecap: round;
  stroke-dasharray: 0 7; }
svg .moved { stroke: var(--good); stroke-width: 4; }
svg .here { fill: var(--paper); stroke: var(--ink); stroke-width: 2; }
svg .there { fill: var(--ink); }
svg .guide { stroke: var(--rule); stroke-width: 1; stroke-dasharray: 2 2; }
svg .gives { fill: var(--good); }
svg .takes { fill: var(--paper); stroke: var(--bad); stroke-width: 1.8; }

@media (max-width: 620px) {
  .handout { padding: 18px 16px 30px; }
  .handout header h1 { font-size: 1.45rem; }
  .blanks div { flex-basis: 100%; }
  .way { grid-template-columns: minmax(0, 1fr); }
  .way > div { grid-column: 1; grid-row: auto; }
  .points th { width: 52%; }
  .points .number { width: 17%; }
}
@media print {
  @page { size: A4; margin: 13mm 15mm; }
  html { font-size: 10pt; }
  .handout { max-width: none; padding: 0; font-size: 1rem; line-height: 1.4; }
  .handout section { margin-top: 1rem; }
  .handout table { font-size: 0.92rem; }
  .way { margin: 7px 0; padding: 6px 12px 7px; }
  .points th { padding-top: 0; padding-bottom: 0; }
  .reasons li { break-inside: avoid; }
  /* More ways than usual leave paper for words alone: two sheets are all that anybody reads. */
  .many .way { font-size: 0.92rem; }
  .many .way li + li { margin-top: 2px; }
  .many .way li svg, .many .people { display: none; }
}
"""
