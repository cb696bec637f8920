"""Which elements and attributes of a Schematron file are understood; whatever is in no table here is refused.

Elements that stand elsewhere are known to who reads them: children of phases and of patterns that are another's to
`expansion`, what a message may hold to `messages`, and what is referred to, such as a diagnostic, to `reader`.
"""

from __future__ import annotations

EVERYWHERE = frozenset({"id", "icon", "see", "fpi"})
"""Attributes of every element."""

ATTRIBUTES = {
    "schema": {"schemaVersion", "defaultPhase", "queryBinding", "version", "ns"},
    "pattern": {"name", "abstract", "is-a", "documents"},
    "rule": {"context", "role", "flag", "severity", "subject", "abstract"},
    "assert": {"test", "role", "flag", "severity", "subject", "diagnostics", "properties"},
    "report": {"test", "role", "flag", "severity", "subject", "diagnostics", "properties"},
    "let": {"name", "value", "as"},
}
"""Further attributes, by element."""

WRITTEN_FROM = "urn:maskwright:rules"
"""Namespace of the attributes ``rule`` and ``when`` of an assert: of the YAML language, which it was written from."""

UNDERSTOOD = {
    "schema": {"let", "pattern"},
    "pattern": {"let", "rule"},
    "rule": {"let", "assert", "report"},
}
"""Children that become edits or what they stand on, by element."""

READ_ELSEWHERE = frozenset({"ns", "diagnostics", "properties"})
"""Children of a schema that the reader looks for itself."""

FOR_PEOPLE = frozenset({"title", "p"})

NOT_USED = frozenset({"key"})
"""Counted, and told in a note."""

NOT_READ = {
    "include": "it cannot stand here",
    "extends": "it cannot stand here",
    "library": "copy the rules into this file",
    "group": "use pattern instead of group",
}
"""Refused, and what to do instead."""
