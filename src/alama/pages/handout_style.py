"""The style of pages that are handed over: one column, and forms that need no colour."""

from __future__ import annotations

from typing import Final

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
