"""The script of the page: it copies code, names this server, folds the menu, marks where one is.

The page can be read whole without it.
"""

from __future__ import annotations

from typing import Final

SCRIPT: Final = """
"use strict";
if (location.origin.startsWith("http")) {
  for (const place of document.querySelectorAll(".origin")) place.textContent = location.origin;
}

// Without HTTPS a browser has no clipboard for scripts; the old way of copying works there, and
// where that is refused too the text is left selected.
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand("copy") ? "Copied" : "Selected";
  }
}

for (const figure of document.querySelectorAll("figure.code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    button.textContent = await copy(figure.querySelector("code"));
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  figure.querySelector("figcaption").append(button);
}

const menu = document.querySelector("nav details");
const narrow = matchMedia("(max-width: 860px)");
const fold = () => { menu.open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();

const links = new Map();
for (const link of document.querySelectorAll("nav a")) links.set(link.hash.slice(1), link);
const watch = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const [anchor, link] of links) link.classList.toggle("here", anchor === entry.target.id);
  }
}, { rootMargin: "-10% 0px -80% 0px" });
for (const section of document.querySelectorAll("main section")) watch.observe(section);
"""
