"""Figures of matplotlib as SVG inside of a page, in the colours of the page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLEAR: Any = {
    "svg.hashsalt": "maskwright", "svg.fonttype": "none", "font.size": 10.0, "font.family": "sans-serif",
    "savefig.facecolor": "none", "axes.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip
"""No background, text as text, and the same bytes each time."""

FIRST, SECOND, QUIET = "#D55E00", "#0072B2", "#7F7F7F"
"""Colours that are distinguished on light and on dark ground, also by people who do not see red or green."""


def inline(figure: Figure) -> str:
    """The figure as text of an ``svg`` element.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn under the settings `CLEAR`.
    """
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    return recoloured(written.getvalue())


def recoloured(svg: str) -> str:
    """What is black in a picture as the page's colour of text; without what only a file of its own needs.

    Parameters
    ----------
    svg : str
        Text of an SVG file by matplotlib.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # The ring around a name, which keeps it apart from lines, has the colour of the ground.
    svg = re.sub(r"stroke: ?(#ffffff|white)", "stroke: var(--color-background-primary)", svg)
    svg = re.sub(r"(fill|stroke)(: ?|=\")(#000000|black)", r"\1\2currentColor", svg)
    return re.sub(
        r'(<svg\b[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg\b[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1
    )
