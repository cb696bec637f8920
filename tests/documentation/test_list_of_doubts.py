"""The page on doubts lists each of them, as the catalogue has it."""

from __future__ import annotations

from pathlib import Path

from maskwright.foundation.doubts import DOUBT_KINDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "doubts.md"


def test_every_doubt_stands_on_the_page() -> None:
    rows = [f"| {kind.id} | `{kind.name}` | {kind.about} | {kind.meaning} |" for kind in DOUBT_KINDS.values()]
    listed = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| W")]
    assert listed == rows
