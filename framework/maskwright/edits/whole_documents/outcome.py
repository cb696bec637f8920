"""What a whole document was found to be: counts and locations, and no values unless they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.foundation.html_tables import block, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.edit import Severity

FIRST_LOCATIONS = 10


@dataclass(frozen=True)
class TestOutcome:
    """What one assert or report said.

    `violations`: nodes on which the assert failed, or the report's test was true. `fired`: nodes that its rule fired
    on. `first_locations`: XPaths of the first violating nodes, at most 10. `first_messages`: their messages, which
    carry values of the document; None unless they were asked for.
    """

    __test__ = False

    name: str
    kind: str
    checked_by: str
    severity: Severity
    violations: int
    fired: int
    first_locations: tuple[str, ...]
    first_messages: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Entry of ``validate --document --json``."""
        entry = {
            "name": self.name,
            "kind": self.kind,
            "severity": self.severity,
            "violations": self.violations,
            "fired": self.fired,
            "checked_by": self.checked_by,
            "first_locations": list(self.first_locations),
        }
        return entry if self.first_messages is None else entry | {"first_messages": list(self.first_messages)}


@dataclass(frozen=True)
class DocumentOutcome:
    """What all asserts and reports of a schema said of a document.

    Attributes
    ----------
    edits : tuple of TestOutcome
        In the order of the schema.
    phase : str
        Whose patterns were checked; ``#ALL`` for every pattern.
    fired : int
        Nodes that rules fired on; a rule without tests fires too.
    notes : tuple of str
        What of the schema was left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("order.xml").write_text("<order><line/><line price='3'/></order>", encoding="utf-8")
    >>> _ = Path("order.sch").write_text('''
    ... <schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="line">
    ... <assert id="priced" test="@price">Every line has a price.</assert></rule></pattern></schema>
    ... ''', encoding="utf-8")
    >>> outcome = mw.validate_document("order.xml", "order.sch")
    >>> outcome.ok, outcome.counts, outcome.edits[0].first_locations
    (False, {'priced': 1}, ('/order/line[1]',))
    """

    edits: tuple[TestOutcome, ...]
    phase: str
    fired: int
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no assert failed and no report was true, of those whose severity is ``error``."""
        return not any(edit.violations for edit in self.edits if edit.severity == "error")

    @property
    def counts(self) -> Mapping[str, int]:
        """Violations by name."""
        return {edit.name: edit.violations for edit in self.edits}

    def __repr__(self) -> str:
        """Return the counts only."""
        return f"DocumentOutcome(ok={self.ok}, violations={sum(self.counts.values())})"

    def _repr_html_(self) -> str:
        rows = [(each.name, each.kind, f"{each.fired:,}", f"{each.violations:,}") for each in self.edits]
        title = f"{'ok' if self.ok else 'not ok'}: {sum(self.counts.values()):,} violations"
        return block(title, table(("edit", "kind", "applied to", "violations"), rows, (2, 3)))

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``validate --document --json`` prints it."""
        return {
            "document": True,
            "ok": self.ok,
            "phase": self.phase,
            "violations": sum(self.counts.values()),
            "edits": [edit.to_json() for edit in self.edits],
        }
