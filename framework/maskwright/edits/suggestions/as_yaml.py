"""Suggestions as a rule file."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import yaml

from maskwright.edits.suggestions.model import WARNING

if TYPE_CHECKING:
    from maskwright.edits.suggestions.model import Suggestion, Suggestions

TITLES = {
    "equality": "sum",
    "product": "product",
    "proportion": "computed and rounded",
    "dependency": "code",
    "conditional": "conditional",
    "ordering": "ordering",
    "constant": "constant",
    "range": "range",
    "set": "list",
}


def as_yaml(found: Suggestions, source: str) -> str:
    """Suggestions as a rule file, ready to paste, the most useful first; what needs a declaration is a comment."""
    lines = [f"# Rules found in {source}, {found.records} records: suggestions, to accept or reject one by one."]
    lines += [f"# {line}" for line in textwrap.wrap(WARNING, 110)]
    lines += [f"# {line}" for note in found.notes for line in textwrap.wrap(f"{note}.", 110)]
    if any(each.kind == "range" for each in found.found) and not found.shows_values:
        lines.append("# bounds of ranges are rounded outwards.")
    lines.append("# The most useful first: what chance would break most often, and the file does not.")
    lines.append("edits:" if any(not each.needs for each in found.found) else "edits: []")
    for each in found.found:
        entry = yaml.safe_dump([each.rule], width=10**6, allow_unicode=True).strip()
        lines.append(f"  {'# ' if each.needs else ''}{entry}  # {_comment(each)}")
    return "\n".join(lines) + "\n"


def _comment(each: Suggestion) -> str:
    said = f"{each.records} of {each.of} records"
    if each.violations:
        said += f", {each.violations} violate it"
    more = [said, TITLES[each.kind], each.ground, each.needs and f"needs {each.needs}"]
    return "; ".join(part for part in more if part)
