"""XML microdata: flat or nested records in a root element, read and written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from maskwright import DataError, FormatFacts, Layout, NumberNotation, Place, Problem, Progress, ReadAgain, Source
from maskwright_builtin.sources.files import readable_size, with_packed
from maskwright_builtin.sources.xml.block_splitting import Deviation, Unlearnt
from maskwright_builtin.sources.xml.nested_documents import GroupsForm, MembersForm, NestedXml
from maskwright_builtin.sources.xml.parser import ByteProgress, Opening, XmlParams, find_opening
from maskwright_builtin.sources.xml.stream import Found, examine, stream
from maskwright_builtin.sources.xml.template import RecordTemplate
from maskwright_builtin.sources.xml.writing import LATIN_1, write_nested, write_xml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright_builtin.sources.xml.parser import Name


class Form(Protocol):
    """What is read of a file, and how."""

    opening: Opening

    def template(self) -> RecordTemplate:
        """Template of the fast reader; raises `Deviation`."""
        ...

    def examine(self, progress: ByteProgress) -> Found:
        """Look at the whole file with the streaming parser; raises `DataError`."""
        ...

    def stream(self, columns: list[Name], progress: ByteProgress) -> Iterator[pa.RecordBatch]:
        """Yield the records that `examine` has found sound."""
        ...

    def details(self) -> Mapping[str, object]:
        """What the layout says beside how flat records are written."""
        ...


class FlatForm:
    """Records that are inside no other."""

    def __init__(self, path: Path, params: XmlParams) -> None:
        self._path, self._params = path, params
        self.opening = find_opening(path, params)

    def template(self) -> RecordTemplate:
        """Template of the fast reader."""
        return RecordTemplate(self.opening, self._params.max_text)

    def examine(self, progress: ByteProgress) -> Found:
        """Look at the whole file with the streaming parser."""
        return examine(self._path, self._params, self.opening, progress)

    def stream(self, columns: list[Name], progress: ByteProgress) -> Iterator[pa.RecordBatch]:
        """Yield the records."""
        return stream(self._path, self._params, self.opening, columns, progress)

    def details(self) -> Mapping[str, object]:
        """Nothing more."""
        return {}


def form_of(path: Path, params: XmlParams) -> Form:
    """What the options say is to be read of a file."""
    if params.group is not None:
        return MembersForm(path, params)
    return GroupsForm(path, params) if params.members else FlatForm(path, params)


ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


def published_tags(
    start_tags: Sequence[str], names: Sequence[str], keep: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Start tags with the namespaces that names need, and with the attributes that are declared to be kept."""
    prefixes = {name.partition(":")[0] for name in (*names, *keep) if ":" in name}
    default = {"xmlns"} if any(":" not in name for name in names) else set()
    wanted = {*default, *(f"xmlns:{prefix}" for prefix in prefixes), *keep}
    tags: list[str] = []
    left_out: dict[str, None] = {}
    for tag in start_tags:
        attributes = list(ATTRIBUTE.finditer(tag))
        kept = "".join(each.group() for each in attributes if each[1] in wanted)
        left_out |= dict.fromkeys(each[1] for each in attributes if each[1] not in wanted)
        name = re.match(r"<[^\s/>]+", tag)
        tags.append(f"{name.group() if name else '<'}{kept}>")
    return tuple(tags), tuple(left_out)


EXAMINING = 0.4


class XmlReading:
    """An XML file that has been examined from end to end and found to be flat records."""

    def __init__(self, path: Path, params: XmlParams, progress: Progress) -> None:
        size = readable_size(path, params.max_file_size)
        self._path = path
        self._params = params
        self._reading: ByteProgress = lambda done: progress(EXAMINING + (1 - EXAMINING) * min(1.0, done / size))
        self._form = form_of(path, params)

        def examining(done: int) -> None:
            progress(EXAMINING * min(1.0, done / size))

        # Both readers look at the whole file before a single record is handed on: a form that changes in the last
        # record must not leave records behind that were read under another assumption.
        try:
            self._template: RecordTemplate | None = self._form.template()
            self._found = _plain(path, self._template, examining)
        except Deviation:
            self._template = None
            self._found = self._form.examine(examining)
        if not self._found.columns:
            name = self._form.opening.record.tag
            hint = "Values must be child elements of the record."
            raise DataError(Problem(f"the records <{name}> have no variables in them", Place(str(path)), hint))

    @property
    def is_plain(self) -> bool:
        """Whether the records are written plainly, so that the fast reader is used."""
        return self._template is not None

    @property
    def numbers(self) -> NumberNotation:
        """How the file writes numbers."""
        return NumberNotation(self._params.decimal)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records as string columns; null: no element, "": an empty one."""
        if self._template is None:
            yield from self._form.stream(self._found.columns, self._reading)
            return
        schema = pa.schema([(column.local, pa.string()) for column in self._found.columns])
        try:
            for cut in self._template.cuts(self._path, self._reading):
                yield pa.record_batch(cut.columns(), schema=schema)
        except (Deviation, Unlearnt):
            raise DataError(Problem("the file was changed while it was being read", Place(str(self._path)))) from None

    @property
    def layout(self) -> Layout:
        """What is needed to write the file again; see `write_xml`."""
        return _layout(self._form, self._found, self._params)


class XmlReadingOnce:
    """An XML file that is taken to be written plainly to its end."""

    def __init__(self, path: Path, params: XmlParams, progress: Progress) -> None:
        size = readable_size(path, params.max_file_size)
        self._path = path
        self._params = params
        self._reading: ByteProgress = lambda done: progress(min(1.0, done / size))
        self._form = form_of(path, params)
        try:
            self._template = self._form.template()
        except Deviation:
            raise ReadAgain("the file is not written plainly") from None

    @property
    def numbers(self) -> NumberNotation:
        """How the file writes numbers."""
        return NumberNotation(self._params.decimal)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records as string columns; null: no element, "": an empty one."""
        schema = pa.schema([(column.local, pa.string()) for column in self._template.columns])
        try:
            for cut in self._template.cuts(self._path, self._reading):
                yield pa.record_batch(cut.columns(), schema=schema)
        except (Deviation, Unlearnt):
            raise ReadAgain("the file is not written plainly") from None

    @property
    def layout(self) -> Layout:
        """The form of the file as far as its beginning tells."""
        return _layout(self._form, Found(list(self._template.columns)), self._params)


def _layout(form: Form, found: Found, params: XmlParams) -> Layout:
    opening = form.opening
    names = (*opening.path, opening.record, *found.columns)
    tags, left_out = published_tags(opening.start_tags, [name.tag for name in names], params.keep_attributes)
    notes = [
        f"{count} element{'s' if count > 1 else ''} <{tag}> outside the records: not part of the data, and not "
        "written to the masked file"
        for tag, count in found.left_out.items()
    ]
    if left_out:
        one = len(left_out) == 1
        notes.append(
            f"{len(left_out)} attribute{'' if one else 's'} of the elements around the records "
            f"{'is' if one else 'are'} not written to the masked file: {', '.join(left_out)} (`keep_attributes` in the "
            "data section lists those that may be published)"
        )
    if opening.encoding not in ("utf-8", "us-ascii", "ascii", LATIN_1):
        notes.append(f"the file is in {opening.encoding.upper()}: masked XML is written in UTF-8, and says so")
    return Layout(
        "xml",
        {
            "root": opening.path[0].tag,
            "root_tag": tags[0],
            "record": opening.record.tag,
            "record_path": (*(name.tag for name in opening.path), opening.record.tag),
            "path": tuple(name.tag for name in opening.path),
            "start_tags": tags,
            "gaps": opening.gaps,
            "before_record": opening.before_record,
            "before_cell": opening.before_cell,
            "after_cells": opening.after_cells,
            "has_declaration": opening.has_declaration,
            "encoding": opening.encoding,
            "decimal": params.decimal,
            "tags": {name.local: name.tag for name in found.columns if name.local != name.tag},
            "notes": tuple(notes),
            **form.details(),
        },
    )


def _plain(path: Path, template: RecordTemplate, progress: ByteProgress) -> Found:
    """Cut a whole file, and say what it holds; the template learns the variables that its first record lacks."""
    while True:
        try:
            records = sum(cut.n for cut in template.cuts(path, progress))
        except Unlearnt as new:
            template.learn(new)
            continue
        return Found(list(template.columns), records)


def open_xml(path: Path, params: Any, progress: Progress) -> XmlReading:
    """Examine an XML file of microdata; see `XmlParams` for the options."""
    return XmlReading(path, params, progress)


XML = Source(
    name="xml",
    suffixes=with_packed(".xml"),
    open=open_xml,
    open_once=XmlReadingOnce,
    write=write_xml,
    write_levels=write_nested,
    open_nested=NestedXml,
    params=XmlParams,
    writes_text=True,
    holds=FormatFacts(
        types="texts; numbers and dates are recognised by their cells, or declared",
        missing_codes="codes stay in their cells, without what they mean; empty and absent elements differ",
        dates="texts of any declared form",
        precision="every digit",
        texts="up to `max_text` characters, without control characters",
        names="names of XML elements",
        file_itself="attributes around the records only by `keep_attributes`; comments and instructions stay behind",
    ),
    summary="XML records: a root element, one element for each record, one child of it for each variable.",
)
