"""The risk-utility map of the README: 16 ways to mask the demo survey, by what they lose and what they disclose.

    python benchmarks/risk_utility_map.py

writes ``docs/pictures/risk-utility-map.svg``. The experiment is one that `maskwright compare` takes; the map that it
draws by itself has more to say, and a hundred times the bytes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

import maskwright as mw
from maskwright.commands.demo.files import write_demo

if TYPE_CHECKING:
    from collections.abc import Iterator

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "risk-utility-map.svg"
RECORDS = 1080
GRID = [
    {"family": "groups of 3 variables", "method": "microaggregation", "params": {"group_size": 3},
     "vary": {"k": [3, 5, 10, 20]}},
    {"family": "all variables at once", "method": "microaggregation", "params": {"group_size": "all"},
     "vary": {"k": [3, 5, 10, 20]}},
    {"family": "noise, p deviations", "method": "additive_noise", "vary": {"p": [0.1, 0.2, 0.3, 0.5]}},
    {"family": "ranks swapped, p percent", "method": "rank_swapping", "vary": {"p": [2, 5, 10, 20]}},
]  # fmt: skip
STYLES = (("#0072B2", 8, -4), ("#009E73", -8, 14), ("#E69F00", -8, -4), ("#CC79A7", 8, 14))
"""Colours that are told apart also by people who do not see red or green (Okabe and Ito), and where names stand."""
TITLE = "Records that an intruder finds again, and loss, of 16 ways to mask the demo survey"
FONT = 'font-family="sans-serif" font-size="12" fill="#222"'
WIDTH, HEIGHT, LEFT, BOTTOM = 760, 400, 56, 50
Points = list[tuple[str, str, float, float]]
"""Family, setting, risk and loss in percent."""


def compared() -> Points:
    """Mask the demo in each way, and measure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pipeline = yaml.safe_load(write_demo(folder, RECORDS).pipeline.read_text(encoding="utf-8"))
        experiment = {
            "maskwright": 1, "data": pipeline["data"], "edits": pipeline["edits"], "grid": GRID, "seed": 1,
            "measure": ["pil", {"distance_record_linkage": {"known": 7, "as": "linkage7"}}],
            "map": {"risk": "linkage7", "loss": "pil"},
        }  # fmt: skip
        (folder / "experiment.yaml").write_text(yaml.safe_dump(experiment), encoding="utf-8")
        points = mw.compare(folder / "experiment.yaml", workers=1).points
    return [
        (family, setting, float(row["linkage7"]), float(row["pil"]))
        for cell, row in points.iterrows()
        for family, _, setting in [str(cell).rpartition(" ")]
    ]


def place(risk: float, loss: float) -> tuple[str, str]:
    """Coordinates of two shares in percent; losses up to 80 have room."""
    x = LEFT + (WIDTH - LEFT - 210) * risk / 100
    y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 20) * loss / 80
    return f"{x:.0f}", f"{y:.0f}"


def drawn(points: Points) -> str:
    """The picture."""
    families = dict(zip(dict.fromkeys(family for family, *_ in points), STYLES, strict=True))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {FONT}>',
        f"<title>{TITLE}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        *_axes(),
    ]
    for at, (family, (colour, aside, below)) in enumerate(families.items()):
        own = [(setting, *place(risk, loss)) for name, setting, risk, loss in points if name == family]
        path = "L".join(f"{x} {y}" for _, x, y in own)
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-opacity="0.4"/>')
        anchor = "end" if aside < 0 else "start"
        for setting, x, y in own:
            lines.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>')
            lines.append(f'<text x="{int(x) + aside}" y="{int(y) + below}" text-anchor="{anchor}">{setting}</text>')
        lines.append(f'<circle cx="{WIDTH - 185}" cy="{36 + 24 * at}" r="5" fill="{colour}"/>')
        lines.append(f'<text x="{WIDTH - 173}" y="{40 + 24 * at}">{family}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _axes() -> Iterator[str]:
    """Grid, numbers, titles."""
    for share in range(0, 101, 20):
        (x, low), (_, high) = place(share, 0), place(share, 80)
        yield f'<path d="M{x} {low}V{high}" stroke="#ddd"/>'
        yield f'<text x="{x}" y="{int(low) + 18}" text-anchor="middle">{share} %</text>'
    for share in range(0, 81, 20):
        (left, y), (right, _) = place(0, share), place(100, share)
        yield f'<path d="M{left} {y}H{right}" stroke="#ddd"/>'
        yield f'<text x="{int(left) - 8}" y="{int(y) + 4}" text-anchor="end">{share}</text>'
    (x, low), (_, middle) = place(50, 0), place(0, 40)
    yield f'<text x="{x}" y="{int(low) + 38}" text-anchor="middle">records found again by who knows 7 variables</text>'
    yield f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">information loss (pil)</text>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(compared()), encoding="utf-8")
    print(PICTURE.name)
