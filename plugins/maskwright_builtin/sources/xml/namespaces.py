"""Namespaces of the elements and attributes of records as they are written: what is declared where."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from maskwright_builtin.sources.xml.parser import Name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.sources.xml.parser import Opening

NIL = ("http://www.w3.org/2001/XMLSchema-instance", "nil")
XML_PREFIX = "xml"


class Namespaces:
    """Tags as they are written, and the namespaces that records and cells declare: those not declared around them.

    `tags`: of the columns. `declared`: by element, None for the record. `nil`: marks of nil by element.
    """

    def __init__(self, opening: Opening, columns: Sequence[Name], nil: Mapping[Name, str]) -> None:
        self._around = dict(opening.namespaces)
        self.tags: dict[Name, str] = {}
        self.declared: dict[Name | None, dict[str, str]] = {None: {}}
        self.nil: dict[Name, str] = {}
        attributes: dict[Name | None, list[Name]] = {}
        for name in columns:
            if name.is_attribute:
                attributes.setdefault(name.of, []).append(name)
        used: dict[str, str] = {}
        self.record = self._tag(None, opening.record, used)
        for each in attributes.get(None, ()):
            self.tags[each] = self._tag(None, each, used)
        for cell in (name for name in columns if not name.is_attribute):
            used = {}
            self.tags[cell] = self._tag(cell, cell, used)
            for each in attributes.get(cell, ()):
                self.tags[each] = self._tag(cell, each, used)
            if cell in nil:
                mark = Name(NIL[1], nil[cell], NIL[0], is_attribute=True, of=cell)
                self.nil[cell] = self._tag(cell, mark, used)

    def _tag(self, element: Name | None, name: Name, used: dict[str, str]) -> str:
        """Tag of an element or of an attribute of it; `used`: prefixes on the element so far."""
        if name.prefix == XML_PREFIX or (name.is_attribute and not name.uri):
            return name.tag
        prefix, number = name.prefix, 1
        while used.get(prefix, name.uri) != name.uri:
            number += 1
            prefix = f"{name.prefix or 'ns'}{number}"
        used[prefix] = name.uri
        if self._around.get(prefix, "") != name.uri:
            # The record can declare it for all of its cells, unless the prefix means something else around.
            of_record = element is None or (bool(prefix) and prefix not in self._around)
            self.declared.setdefault(None if of_record else element, {})[prefix] = name.uri
            if of_record:
                self._around[prefix] = name.uri
        return f"{prefix}:{name.local}" if prefix else name.local

    def texts(self, called: Mapping[Name, str]) -> dict[str, str]:
        """Declarations as they are written, by variable; "" for the record."""
        return {
            "" if element is None else called[element]: "".join(
                f" xmlns{':' if prefix else ''}{prefix}={quoteattr(uri)}" for prefix, uri in own.items()
            )
            for element, own in self.declared.items()
            if own
        }
