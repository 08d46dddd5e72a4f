"""Traffic lights that need no colour to be read: three lamps, the lit one by its place."""

from __future__ import annotations

from typing import Final

from alama.pages.markup import Markup, tag
from alama.training.validation.tiers import Light

_LAMPS: Final = ((Light.RED, "#c0392b"), (Light.AMBER, "#d99a00"), (Light.GREEN, "#2e8b57"))
_STEP_PX: Final = 13.0


def lamps(light: Light) -> Markup:
    """Draw a light, with its word beside it."""
    drawn = [
        tag(
            "circle",
            cx=6.5 + place * _STEP_PX,
            cy=6.5,
            r=4.6,
            fill=colour if light is lamp else "none",
            stroke=colour if light is lamp else "currentColor",
            stroke_opacity=1.0 if light is lamp else 0.28,
        )
        for place, (lamp, colour) in enumerate(_LAMPS)
    ]
    picture = tag(
        "svg",
        *drawn,
        width=_STEP_PX * len(_LAMPS),
        height=13,
        viewBox=f"0 0 {_STEP_PX * len(_LAMPS):.0f} 13",
        aria_hidden="true",
        class_="swatch",
    )
    word = "no loans" if light is Light.DARK else light.value
    return tag("span", picture, f" {word}", class_="key")
