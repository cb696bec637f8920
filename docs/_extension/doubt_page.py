"""The page on doubts: what stops a release unless it is waived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _extension.markdown_text import as_markdown, block, code, one_line
from maskwright.foundation.doubts import DOUBT_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAD = (
    "A doubt about what was understood or protected stops the release, unless the pipeline waives it by name and says "
    "why. Waivers stand in the record, in the report and beside the word Released. `maskwright explain NAME` explains "
    "a doubt by its name or its id."
)
EXAMPLE = "waive:\n  - {doubt: published-undeclared, variable: remarks, because: free text is dropped later}"


def doubt_page() -> Mapping[str, str]:
    """Text of the page, by the name of its file."""
    parts = ["# Every doubt", LEAD, block(EXAMPLE, "yaml")]
    stage = ""
    for kind in DOUBT_KINDS.values():
        if kind.stage != stage:
            stage = kind.stage
            parts.append(f"## Doubts of {stage}")
        parts += [
            f"({kind.id.lower()})=", f"### {kind.id} {code(kind.name)}", as_markdown(kind.meaning),
            f"**Instead of waiving:** {one_line(kind.remedy)}",
            f"**Waived for:** {'the whole file' if kind.about == 'file' else f'one {kind.about}'}",
        ]  # fmt: skip
    return {"doubts.md": "\n\n".join(parts) + "\n"}
