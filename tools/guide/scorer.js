// Pages that somebody came for stand before tables and reasons, and those whose title names a word before others.
"use strict";
const asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/).filter((word) => word);
var Scorer = {
  score: ([docname, title, , , score]) => {
    const named = asked.filter((word) => title.toLowerCase().includes(word)).length;
    return score + 10 * named - (/^(decisions|generated|changelog)/.test(docname) ? 12 : 0);
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
