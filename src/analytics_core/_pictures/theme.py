"""The colours and fonts of pictures on light and dark pages, and the colour schemes that forms name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from analytics_core._pictures.data import Theme
from analytics_core._pictures.text_metrics import FONT

TITLE_PX: Final = 15
LABEL_PX: Final = 11
NOTE_PX: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Colours:
    """The colours of a page, and of series on it."""

    background: str
    text: str
    muted: str
    line: str
    stripe: str
    accent: str
    series: tuple[str, ...]
    good: str
    bad: str
    neutral: str
    heat: tuple[str, ...]


LIGHT: Final = Colours(
    background="#ffffff",
    text="#22262b",
    muted="#5f6870",
    line="#dfe3e6",
    stripe="#f6f7f8",
    accent="#0072b2",
    series=("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#7a6a00", "#6b6f76"),
    good="#009e73",
    bad="#d55e00",
    neutral="#6b6f76",
    heat=("#eef6fb", "#b7dcf0", "#6fb6dd", "#2c86bd", "#0b5a91", "#06365c"),
)
DARK: Final = Colours(
    background="#1b1f24",
    text="#e8eaed",
    muted="#a3abb3",
    line="#3a4149",
    stripe="#23282e",
    accent="#56b4e9",
    series=("#56b4e9", "#e69f00", "#2fc99c", "#ff8652", "#9fb7ff", "#e79cc6", "#f0e442", "#a9afb7"),
    good="#2fc99c",
    bad="#ff8652",
    neutral="#a9afb7",
    heat=("#22303c", "#1f4e70", "#2577a6", "#46a0cf", "#8cc9e8", "#d8f0fb"),
)
"""The series are the colours of Okabe and Ito, which people who see few colours can tell apart, made for each page."""

_D3_10: Final = "#1f77b4 #ff7f0e #2ca02c #d62728 #9467bd #8c564b #e377c2 #7f7f7f #bcbd22 #17becf"
_D3_20: Final = (
    "#1f77b4 #aec7e8 #ff7f0e #ffbb78 #2ca02c #98df8a #d62728 #ff9896 #9467bd #c5b0d5 "
    "#8c564b #c49c94 #e377c2 #f7b6d2 #7f7f7f #c7c7c7 #bcbd22 #dbdb8d #17becf #9edae5"
)
_D3_20B: Final = (
    "#393b79 #5254a3 #6b6ecf #9c9ede #637939 #8ca252 #b5cf6b #cedb9c #8c6d31 #bd9e39 "
    "#e7ba52 #e7cb94 #843c39 #ad494a #d6616b #e7969c #7b4173 #a55194 #ce6dbd #de9ed6"
)
_D3_20C: Final = (
    "#3182bd #6baed6 #9ecae1 #c6dbef #e6550d #fd8d3c #fdae6b #fdd0a2 #31a354 #74c476 "
    "#a1d99b #c7e9c0 #756bb1 #9e9ac8 #bcbddc #dadaeb #636363 #969696 #bdbdbd #d9d9d9"
)
_SCHEMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "d3Category10": tuple(_D3_10.split()),
        "d3Category20": tuple(_D3_20.split()),
        "d3Category20b": tuple(_D3_20B.split()),
        "d3Category20c": tuple(_D3_20C.split()),
        "blueToGreen": ("#1d3f72", "#22659a", "#2589ac", "#2fabad", "#4cc9a0", "#86e08f", "#c0ee8a"),
        "colorsOfRainbow": ("#b5302f", "#d9792b", "#d6b13a", "#4f9d58", "#2f7fb8", "#5456a4", "#8a4d94"),
        "modernSunset": ("#3b2f63", "#7b3f78", "#b8527b", "#e06c6e", "#f2955c", "#f8c25c"),
        "waterfall": ("#009e73", "#d55e00", "#6b6f76"),
    }
)
_SEQUENTIAL: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "blue_white_yellow": ("#0072b2", "#ffffff", "#e0b000"),
        "white_black": ("#f5f5f5", "#222222"),
        "black_white": ("#222222", "#f5f5f5"),
        "dark_blue": ("#ebf4fb", "#0b3c6f"),
        "pink_grey": ("#c2527f", "#f5f5f5", "#5b5f66"),
        "fire": ("#ffffe0", "#f7b24a", "#d9542b", "#7f1711"),
        "oranges": ("#fff3e6", "#fdbe85", "#e6700f", "#8a3604"),
        "greens": ("#eef8ee", "#8fd19a", "#2c8b4b", "#0b4a25"),
        "blues": ("#eef5fb", "#8bbfe0", "#2a7cb8", "#0b3c6f"),
        "reds": ("#fdf0ed", "#f5a08b", "#d03a2f", "#740d14"),
        "purples": ("#f5f2fa", "#bcb3dc", "#7a66b3", "#3f1f7d"),
        "greys": ("#f5f5f5", "#aaaaaa", "#444444"),
        "superset_div_1": ("#0072b2", "#f2f2f2", "#d55e00"),
        "superset_div_2": ("#009e73", "#f2f2f2", "#cc79a7"),
        "schemeRdBu": ("#b2182b", "#f7f7f7", "#2166ac"),
        "schemeBrBG": ("#8c510a", "#f5f5f5", "#01665e"),
        "schemePiYG": ("#c51b7d", "#f7f7f7", "#4d9221"),
        "schemePuOr": ("#b35806", "#f7f7f7", "#542788"),
        "schemeRdYlBu": ("#d73027", "#ffffbf", "#4575b4"),
        "schemeRdYlGn": ("#d73027", "#ffffbf", "#1a9850"),
        "schemeBlues": ("#f7fbff", "#6baed6", "#08306b"),
        "schemeGreens": ("#f7fcf5", "#74c476", "#00441b"),
        "schemeGrays": ("#ffffff", "#969696", "#222222"),
        "schemeOranges": ("#fff5eb", "#fd8d3c", "#7f2704"),
        "schemePurples": ("#fcfbfd", "#9e9ac8", "#3f007d"),
        "schemeReds": ("#fff5f0", "#fb6a4a", "#67000d"),
        "schemeViridis": ("#440154", "#31688e", "#35b779", "#fde725"),
        "schemeInferno": ("#1b0c41", "#781c6d", "#ed6925", "#fcffa4"),
        "schemeMagma": ("#180f3d", "#721f81", "#f1605d", "#fcfdbf"),
        "schemePlasma": ("#0d0887", "#9c179e", "#ed7953", "#f0f921"),
        "schemeYlGnBu": ("#ffffd9", "#41b6c4", "#081d58"),
        "schemeYlOrRd": ("#ffffcc", "#fd8d3c", "#800026"),
    }
)
_USUAL: Final = ("supersetColors", "supersetAndPresetColors", "SUPERSET_DEFAULT")
SERIES_SCHEMES: Final = (*_SCHEMES, *_USUAL)
"""The names of schemes of series; the usual ones of front ends are the colours of the theme."""

HEAT_SCHEMES: Final = tuple(_SEQUENTIAL)
"""The names of schemes from the least to the largest value."""

_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?|rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)")


def colours_of(theme: Theme) -> Colours:
    """Return the colours of a theme."""
    return DARK if theme is Theme.DARK else LIGHT


def series_colours(
    labels: Sequence[str], colours: Colours, *, scheme: str | None, own: Mapping[str, Any] | None = None
) -> list[str]:
    """Return a colour for each label: its own where one is set, else the next of the scheme.

    A scheme that is not known here is that of the theme. Further rounds of a scheme are paler, then darker.
    """
    palette = _SCHEMES.get(scheme or "", colours.series)
    found = []
    for place, label in enumerate(labels):
        colour = (own or {}).get(label)
        if is_colour(colour):
            found.append(str(colour))
            continue
        turn, step = divmod(place, len(palette))
        base = palette[step]
        found.append(base if turn == 0 else mixed(base, _TOWARDS[turn % 2], _SHARES[turn % len(_SHARES)]))
    return found


_TOWARDS: Final = ("#000000", "#ffffff")
_SHARES: Final = (0.2, 0.45, 0.35, 0.25)


def is_colour(colour: Any) -> bool:
    """Tell whether a value of a form is a colour that pictures take: `#rgb`, `#rrggbb` or `rgb(r, g, b)`."""
    return isinstance(colour, str) and _COLOUR.fullmatch(colour) is not None


def heat_colours(colours: Colours, scheme: str | None) -> tuple[str, ...]:
    """Return the colours from the least to the largest value."""
    return _SEQUENTIAL.get(scheme or "", colours.heat)


def mixed(colour: str, towards: str, share: float) -> str:
    """Return a colour moved by a share of the way towards another; both are `#rrggbb`."""
    pairs = zip(_parts(colour), _parts(towards), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def ramp_colour(ramp: Sequence[str], share: float) -> str:
    """Return the colour at a share (0 to 1) of the way through a ramp."""
    place = min(max(share, 0.0), 1.0) * (len(ramp) - 1)
    first = min(int(place), len(ramp) - 2)
    return mixed(ramp[first], ramp[first + 1], place - first)


def readable_on(colour: str) -> str:
    """Return black or white, whichever reads better on a colour."""
    red, green, blue = (part / 255 for part in _parts(colour))
    return "#1b1f24" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.3 else "#ffffff"


def _parts(colour: str) -> tuple[int, int, int]:
    if colour.startswith("rgb"):
        found = [min(int(part), 255) for part in re.findall(r"\d+", colour)]
        return found[0], found[1], found[2]
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def config_of(colours: Colours) -> dict[str, Any]:
    """Return what Vega-Lite draws alike in all pictures of a theme."""
    label = {
        "labelColor": colours.muted,
        "labelFontSize": LABEL_PX,
        "titleColor": colours.muted,
        "titleFontSize": LABEL_PX,
    }
    return {
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            **label,
            "titleFontWeight": "normal",
            "gridColor": colours.line,
            "domainColor": colours.line,
            "tickColor": colours.line,
            "labelLimit": 160,
            "titleLimit": 400,
            "titlePadding": 8,
        },
        "legend": {**label, "labelColor": colours.text, "titleFontWeight": "normal", "labelLimit": 180},
        "title": {"color": colours.text, "fontSize": TITLE_PX, "anchor": "start", "frame": "bounds", "offset": 10},
    }
