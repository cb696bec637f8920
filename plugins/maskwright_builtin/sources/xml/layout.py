"""What is needed to write an XML file again as it was: its tags, namespaces, attributes and white space."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright import Layout
from maskwright_builtin.sources.xml.namespaces import Namespaces
from maskwright_builtin.sources.xml.writing import LATIN_1

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright_builtin.sources.xml.options import XmlParams
    from maskwright_builtin.sources.xml.parser import Name, Opening
    from maskwright_builtin.sources.xml.stream import Found


ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


def layout_of(opening: Opening, found: Found, params: XmlParams, details: Mapping[str, object]) -> Layout:
    """Layout of a file whose records were found; see `write_xml`."""
    names = (*opening.path, opening.record, *found.columns)
    elements = [name.tag for name in names if not name.is_attribute]
    attributes = [name.tag for name in names if name.is_attribute]
    prefixes = {tag.partition(":")[0] for tag in (*attributes, *found.nil.values()) if ":" in tag}
    if params.members:
        # Records of the levels below are written inside these.
        prefixes |= opening.namespaces.keys()
    tags, left_out = published_tags(opening.start_tags, elements, params.keep_attributes, prefixes)
    called = dict(zip(found.columns, found.variables, strict=True))
    namespaces = Namespaces(opening, found.columns, found.nil)
    tags_of = {called[name]: tag for name, tag in namespaces.tags.items()}
    path = (*opening.path, opening.record)
    return Layout(
        "xml",
        {
            "root": opening.path[0].tag,
            "root_tag": tags[0],
            "record": namespaces.record,
            "record_path": (*(name.tag for name in opening.path), namespaces.record),
            "expanded_path": tuple(expanded(name) for name in path),
            "path": tuple(name.tag for name in opening.path),
            "start_tags": tags,
            "gaps": opening.gaps,
            "before_record": opening.before_record,
            "before_cell": opening.before_cell,
            "after_cells": opening.after_cells,
            "has_declaration": opening.has_declaration,
            "encoding": opening.encoding,
            "decimal": params.decimal,
            "tags": {name: tag for name, tag in tags_of.items() if name != tag or ":" in tag},
            "namespaces": {each.prefix: each.uri for each in reversed((*path, *found.columns)) if each.prefix},
            "expanded": {variable: expanded(name) for name, variable in called.items()},
            "attributes": {
                called[name]: "" if name.of is None else called[name.of] for name in found.columns if name.is_attribute
            },
            "nil": {called[name]: tag for name, tag in namespaces.nil.items()},
            "declarations": namespaces.texts(called),
            "notes": tuple(_notes(opening, found, left_out)),
            **details,
        },
    )


def expanded(name: Name) -> str:
    """Name with its namespaces: ``{urn:office}wages``, ``wages/@unit``; without a namespace the local name alone."""
    own = f"{{{name.uri}}}{name.local}" if name.uri else name.local
    if not name.is_attribute:
        return own
    return f"@{own}" if name.of is None else f"{expanded(name.of)}/@{own}"


def published_tags(
    start_tags: Sequence[str], names: Sequence[str], keep: Collection[str], prefixes: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Start tags with the namespaces that names and `prefixes` need, and with the attributes that are to be kept."""
    needed = {*prefixes, *(name.partition(":")[0] for name in (*names, *keep) if ":" in name)}
    needed |= {""} if any(":" not in name for name in names) else set()
    wanted = {*(f"xmlns:{prefix}" if prefix else "xmlns" for prefix in needed), *keep}
    tags: list[str] = []
    left_out: dict[str, None] = {}
    for tag in start_tags:
        attributes = list(ATTRIBUTE.finditer(tag))
        kept = "".join(each.group() for each in attributes if each[1] in wanted)
        left_out |= dict.fromkeys(each[1] for each in attributes if each[1] not in wanted)
        name = re.match(r"<[^\s/>]+", tag)
        tags.append(f"{name.group() if name else '<'}{kept}>")
    return tuple(tags), tuple(left_out)


def _notes(opening: Opening, found: Found, left_out: Sequence[str]) -> Iterator[str]:
    for tag, count in found.left_out.items():
        yield (
            f"{count} element{'s' if count > 1 else ''} <{tag}> outside the records: not part of the data, and not "
            "written to the masked file"
        )
    if left_out:
        one = len(left_out) == 1
        yield (
            f"{len(left_out)} attribute{'' if one else 's'} of the elements around the records "
            f"{'is' if one else 'are'} not written to the masked file: {', '.join(left_out)} (`keep_attributes` in the "
            "data section lists those that may be published)"
        )
    if found.ignored:
        names = ", ".join(found.ignored)
        yield f"attributes that are neither read nor written, as `ignore_attributes` declares: {names}"
    mixed = [name.tag for name in found.nil if name in found.empty]
    if mixed:
        names = ">, <".join(mixed)
        yield f"<{names}>: some are empty, and others xsi:nil; all that have no value are written as xsi:nil"
    if opening.encoding not in ("utf-8", "us-ascii", "ascii", LATIN_1):
        yield f"the file is in {opening.encoding.upper()}: masked XML is written in UTF-8, and says so"
