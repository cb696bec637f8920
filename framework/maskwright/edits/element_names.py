"""How Schematron states an edit, and the elements and attributes that its rules name, by their namespace."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Mapping

XML = "http://www.w3.org/XML/1998/namespace"
NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
NAMESPACE = re.compile(r"\{([^}]*)\}")


@dataclass(frozen=True)
class Assertion:
    """How a Schematron file states an edit, for the report that goes back to Schematron tools.

    `test`: on one line. `report`: it complains where the test holds. `pattern`: its id or name. `pattern_number`,
    `rule_number`: 1-based places in the file, of the rule among all rules. `diagnostics`, `properties`: messages.
    `rule`, `when`: rule of the YAML language, and its condition, that the test was written from.
    """

    test: str
    report: bool = False
    pattern: str | None = None
    pattern_number: int = 1
    rule_number: int = 1
    id: str | None = None
    role: str | None = None
    flag: str | None = None
    diagnostics: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    rule: str | None = None
    when: str | None = None
    context: str | None = None


@dataclass(frozen=True)
class StatedNames:
    """What a rule names, with namespaces: ``{urn:office}wages``, ``wages/@unit``; without one the local name alone.

    `steps`: expanded names of the context's elements. `variables`: expanded name of each variable that the rule reads.
    """

    steps: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]


@dataclass
class ElementNaming:
    """Names of variables for the elements of one schema: local ones, with the prefix where two namespaces share one."""

    namespaces: Mapping[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def expanded(self, name: str) -> str | None:
        """Expanded name of an element as it is written; None: nothing declares its prefix."""
        prefix, _, local = name.rpartition(":")
        if not prefix:
            return local
        uri = XML if prefix == "xml" else self.namespaces.get(prefix)
        return None if uri is None else f"{{{uri}}}{local}"

    def with_one_prefix(self, path: str) -> str:
        """Path in which all prefixes for a namespace are one."""
        prefixes = {uri: prefix for prefix, uri in reversed([*self.namespaces.items()])}

        def written(prefix: re.Match[str]) -> str:
            return f"{prefixes.get(self.namespaces.get(prefix[1], ''), prefix[1])}:"

        return re.sub(rf"({NCNAME}):", written, path)

    def expanded_step(self, name: str) -> str | None:
        """Expanded name of an element, or of an attribute that is written with ``@``."""
        if not name.startswith("@"):
            return self.expanded(name)
        own = self.expanded(name[1:])
        return None if own is None else f"@{own}"

    def is_nil(self, attribute: str) -> bool:
        """Whether an attribute is the mark of a missing value, which is no variable."""
        return self.expanded(attribute) == NIL

    def variable(self, name: str, attribute: str | None = None) -> str | None:
        """Variable for an element, or for an attribute of it; `name` "": of the record. None: as `expanded`."""
        whole, called = self.expanded(name) if name else "", name.rpartition(":")[2]
        if whole is None:
            return None
        if attribute is not None:
            own = self.expanded(attribute)
            if own is None:
                return None
            whole, called = (f"{each}/@" if each else "@" for each in (whole, called))
            whole, called = whole + own, called + attribute
        for other in (called, f"{name}/@{attribute}" if attribute is not None else name):
            if self.names.setdefault(other, whole) == whole:
                return other
        return None


@dataclass
class WrittenNames:
    """Names of elements as XPath writes them, with one prefix for each namespace.

    `elements`: expanded names of variables; the others are elements of their name, in no namespace. `preferred`: URIs
    by the prefixes that the data have for them. `declared`: URIs by the prefixes that were written.
    """

    elements: Mapping[str, str] = field(default_factory=dict)
    preferred: Mapping[str, str] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)
    _prefixes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The prefix of a namespace does not depend on which rule comes first.
        for uri in (each for expanded in self.elements.values() for each in NAMESPACE.findall(expanded)):
            self._prefix(uri)

    def about(self, stated: StatedNames | None) -> WrittenNames:
        """Names of a rule that states its own, in the same prefixes."""
        if stated is None:
            return self
        return self.of({**self.elements, **dict(stated.variables)})

    def of(self, elements: Mapping[str, str]) -> WrittenNames:
        """Names of other elements, in the same prefixes."""
        return WrittenNames(elements, self.preferred, self.declared, self._prefixes)

    def written(self, expanded: str) -> str:
        """Expanded name with prefixes."""
        return NAMESPACE.sub(self._with_prefix, expanded)

    def path(self, variable: str) -> str:
        """Path from a record to the element or attribute of a variable."""
        return self.written(self.elements.get(variable, variable))

    def _with_prefix(self, found: re.Match[str]) -> str:
        prefix = self._prefix(found[1])
        if found[1] != XML:
            self.declared[prefix] = found[1]
        return f"{prefix}:"

    def _prefix(self, uri: str) -> str:
        if uri == XML:
            return "xml"
        if uri not in self._prefixes:
            own = next((prefix for prefix, each in self.preferred.items() if each == uri), "ns")
            prefix, number = own, 1
            while prefix in self._prefixes.values():
                number += 1
                prefix = f"{own}{number}"
            self._prefixes[uri] = prefix
        return self._prefixes[uri]


def local(name: str) -> str:
    """Name without its prefix."""
    return name.rpartition(":")[2]


def in_words(expanded: str) -> str:
    """Expanded name for people."""
    uris = NAMESPACE.findall(expanded)
    local = NAMESPACE.sub("", expanded)
    return f"{local} in the namespace {uris[0]}" if uris else f"{local} in no namespace"
