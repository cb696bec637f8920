"""Schematron in several files: what `include` and `extends href` name, in its place (ISO/IEC 19757-3, 5.4.4 and 5.4.6).

Files are read only inside the folder that was declared for them; every element counts against one limit, so that
nothing can multiply without bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.edits.engines.engine_tests import XSL, with_prefixes
from maskwright.edits.languages.schematron.document import RAISE_LIMIT, XML, Element, descendants, read_document, refuse
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.languages.schematron.options import SchematronOptions

MOST_FILES = 100
PATTERNS = ("pattern", "group")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\")
_EXPRESSIONS = frozenset(
    "context test select value path subject visit-each documents from when match use as".split()  # noqa: SIM905
)


def with_included(schema: Element, options: SchematronOptions) -> Element:
    """Schema with the content of included files in their places, and with the namespaces that they declare."""
    inclusion = _Inclusion(options, schema)
    whole = inclusion.with_includes(schema, _File((Path(schema.file).resolve(),), {}))
    return replace(whole, content=[*inclusion.declared, *whole.content])


class Copies:
    """Copies of elements, all counted."""

    def __init__(self, options: SchematronOptions) -> None:
        self.options = options
        self._elements = 0

    def counted(self, element: Element) -> Element:
        """Count an element; it is returned."""
        self._elements += 1
        if self._elements > 4 * self.options.max_elements:
            refuse(element, "written out, the schema has too many elements", RAISE_LIMIT)
        return element


@dataclass(frozen=True)
class _File:
    """A file that is written out.

    `paths`: the files that include it, and itself last. `prefixes`: what its prefixes are written as.
    """

    paths: tuple[Path, ...]
    prefixes: Mapping[str, str]


class _Inclusion(Copies):
    def __init__(self, options: SchematronOptions, schema: Element) -> None:
        super().__init__(options)
        self.declared: list[Element] = []
        self._files = 0
        self._spaces = dict(map(_namespace, schema.named("ns")))

    def with_includes(self, element: Element, file: _File) -> Element:
        """Copy of an element with the content of included files in their places."""
        self.counted(element)
        content: list[str | Element] = []
        for part in element.content:
            if isinstance(part, str):
                content.append(part)
            elif part.namespace != element.namespace:
                content.append(_as_let(_renamed(part, file.prefixes), element))
            elif part.name == "include":
                content.append(self._fetched(part, file, element.namespace))
            elif part.name == "extends" and "href" in part.attributes:
                other = self._fetched(part, file, element.namespace)
                if other.name != element.name and (element.name, other.name) != ("schema", "library"):
                    refuse(part, f"<{element.name}> cannot extend the <{other.name}> of that file")
                # What its prefixes stand for is declared by now.
                content += [each for each in other if each.name != "ns"]
            else:
                content.append(self.with_includes(part, file))
        return replace(element, attributes=_attributes(element, file.prefixes), content=content)

    def _fetched(self, reference: Element, file: _File, namespace: str) -> Element:
        """Root of an included file, or the element that the reference's ``#id`` names, with its own includes."""
        written = reference.attributes.get("href", "").strip()
        name, _, fragment = written.partition("#")
        path = self._permitted(reference, name, file.paths[0])
        if path in file.paths:
            refuse(reference, f"the included file {path.name} includes itself")
        self._files += 1
        if self._files > MOST_FILES:
            refuse(reference, f"more than {MOST_FILES} files are included")
        root = read_document(path, self.options)
        prefixes = {**file.prefixes, **self._written_prefixes(root)}
        if fragment:
            known: dict[str, Element] = {}
            for each in descendants(root):
                for identity in (each.attributes.get("id"), each.qualified.get((XML, "id"))):
                    known.setdefault(identity or "", each)
            if fragment not in known:
                refuse(reference, unknown_name(f"element in {path.name}", fragment, filter(None, known)))
            root = known[fragment]
        if root.namespace != namespace:
            refuse(reference, f"the included element <{root.name}> is of another namespace than the schema")
        return self.with_includes(root, _File((*file.paths, path), prefixes))

    def _written_prefixes(self, root: Element) -> dict[str, str]:
        """What the prefixes of an included schema are written as: others where the schema means something else."""
        found = {}
        for each in root.named("ns"):
            prefix, uri = _namespace(each)
            written, number = prefix, 1
            while self._spaces.get(written, uri) != uri:
                number += 1
                written = f"{prefix}-{number}"
            found[prefix] = written
            if written not in self._spaces:
                self._spaces[written] = uri
                self.declared.append(replace(each, attributes={"prefix": written, "uri": uri}))
        return found

    def _permitted(self, reference: Element, name: str, main: Path) -> Path:
        """Path of an included file; nothing outside the declared folder is accessed."""
        folder = self.options.include_folder
        if folder is None:
            hint = "name the folder that included files may be in: include_folder (--include FOLDER), or copy them in"
            refuse(reference, f"<{reference.name} href=...> is not followed unless a folder is declared for it", hint)
        if not names_file(name):
            hint = "give the name of a file inside the declared folder"
            refuse(reference, f"<{reference.name}> names no file: {name!r}; addresses are never fetched", hint)
        base = (main.parent / folder).resolve()
        path = (Path(reference.file).parent / name).resolve()
        if not path.is_relative_to(base):
            refuse(reference, f"the file {name} is outside the folder declared for included files")
        return path


def names_file(name: str) -> bool:
    """Whether a reference names a file, and is no address."""
    return bool(name) and not _SCHEME.match(name) and "\0" not in name


def _namespace(element: Element) -> tuple[str, str]:
    return element.attributes.get("prefix", "").strip(), element.attributes.get("uri", "").strip()


def _renamed(element: Element, prefixes: Mapping[str, str]) -> Element:
    """Element of another namespace, with those in it, whose expressions use other prefixes."""
    content = [each if isinstance(each, str) else _renamed(each, prefixes) for each in element.content]
    return replace(element, attributes=_attributes(element, prefixes), content=content) if prefixes else element


def _attributes(element: Element, prefixes: Mapping[str, str]) -> dict[str, str]:
    """Attributes of an element, with other prefixes; those that XSLT declares at its elements are its own."""
    own = element.prefixes if element.namespace == XSL else ()
    changed = {old: new for old, new in prefixes.items() if old != new and old not in own}
    found = dict(element.attributes)
    for name in _EXPRESSIONS & found.keys() if changed else ():
        try:
            found[name] = with_prefixes(found[name], changed)
        except ValueError as error:
            refuse(element, f"{name}: {error}, and its prefixes stand for other namespaces than those of the schema")
    return found


def _as_let(part: Element, around: Element) -> Element:
    """``xsl:variable`` next to rules or tests is what ``let`` is."""
    if part.namespace != XSL or part.name not in ("variable", "param"):
        return part
    known = part.attributes.keys() <= {"name", "select", "as"}
    if around.name not in ("schema", "phase", "rule", *PATTERNS) or not known or "name" not in part.attributes:
        return part
    attributes = {("value" if name == "select" else name): text for name, text in part.attributes.items()}
    return replace(part, namespace=around.namespace, name="let", attributes=attributes)
