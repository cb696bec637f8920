"""XML microdata: flat or nested records in a root element, read and written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskwright import (
    DataError,
    Format,
    FormatFacts,
    InputError,
    Layout,
    NestedFormat,
    NumberNotation,
    Place,
    Problem,
    Progress,
    ReadAgain,
    Source,
)
from maskwright_builtin.sources.files import readable_size, with_packed
from maskwright_builtin.sources.xml.block_splitting import Deviation, GroupsPart, MembersPart, PartsInTurn, Unlearnt
from maskwright_builtin.sources.xml.layout import layout_of
from maskwright_builtin.sources.xml.nested_documents import NestedXml
from maskwright_builtin.sources.xml.nested_stream import LevelRecords, MemberForm, find_member_form, is_called
from maskwright_builtin.sources.xml.options import XmlParams
from maskwright_builtin.sources.xml.parser import ByteProgress, GuardedParser, find_opening, variable_names
from maskwright_builtin.sources.xml.stream import Found, Records
from maskwright_builtin.sources.xml.template import RecordTemplate
from maskwright_builtin.sources.xml.writing import refuse_unwritable, write_nested, write_xml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from maskwright_builtin.sources.xml.parser import Name, Opening
    from maskwright_builtin.sources.xml.template import Part


@dataclass(frozen=True)
class Form:
    """What is read of a file, and how.

    `handlers`: of the streaming parser. `part`: of the fast reader, where records are not all that is in the file.
    `details`: what the layout says beside how flat records are written.
    """

    path: Path
    params: XmlParams
    opening: Opening
    handlers: Callable[[GuardedParser], Records]
    part: Part | None = None
    details: Mapping[str, object] = field(default_factory=dict)

    def template(self) -> RecordTemplate:
        """Template of the fast reader; raises `Deviation`."""
        return RecordTemplate(self.opening, self.params.max_text, self.part)

    def examine(self, progress: ByteProgress) -> Found:
        """Look at the whole file with the streaming parser; raises `DataError`."""
        guarded = GuardedParser(self.path, self.params)
        records = self.handlers(guarded)
        for _ in guarded.feed(progress):
            records.rows.clear()
        return records.in_order()

    def stream(self, columns: list[Name], progress: ByteProgress) -> Iterator[pa.RecordBatch]:
        """Yield the records that `examine` has found sound; null is an absent element, "" an empty one."""
        guarded = GuardedParser(self.path, self.params)
        records = self.handlers(guarded)
        schema, keys = (
            pa.schema([(name, pa.string()) for name in variable_names(columns)]),
            [each.key for each in columns],
        )
        for _ in guarded.feed(progress):
            if records.rows:
                arrays = [pa.array([row.get(key) for row in records.rows], pa.string()) for key in keys]
                records.rows.clear()
                yield pa.record_batch(arrays, schema=schema)


def form_of(path: Path, params: XmlParams) -> Form:
    """What the options say is to be read of a file: records inside others, around others, both, or flat ones."""
    top = params if params.group is None else params.model_copy(update={"record": next(iter(params.group))})
    groups = opening = find_opening(path, top)
    form: MemberForm | None = None
    parts: list[GroupsPart | MembersPart] = []
    details: dict[str, object] = {}
    if params.group is not None:
        assert params.record is not None
        form = find_member_form(path, params, groups, params.record, params.group)
        opening = form.opening(groups)
        tags = [group.tag for group, _ in form.around]
        details = {"record_path": (*(each.tag for each in opening.path), *tags, opening.record.tag)}
        details["follow"] = form.after
        for depth, (group, member) in enumerate(pairwise([*tags, form.name.tag]), start=1):
            parts.append(MembersPart(group, [key.tag for key in form.keys[:depth]], member))
    elif not params.members:
        return Form(path, params, opening, lambda guarded: Records(guarded, opening))
    if params.members:
        wanted = params.members[0]
        inside = [cell.tag for cell in opening.cells if is_called(cell, wanted)]
        opening = replace(opening, cells=tuple(cell for cell in opening.cells if cell.tag not in inside))
        parts.append(GroupsPart(opening.record.tag, tuple(dict.fromkeys((wanted, *inside)))))

    def handlers(guarded: GuardedParser) -> Records:
        return LevelRecords(guarded, opening if form is None else groups, params.members[:1], form)

    return Form(path, params, opening, handlers, PartsInTurn(parts), details)


class _Reading:
    """Records of an XML file by the fast reader, or by the streaming parser where there is no template."""

    examining = 0.0
    """Share of the work that is done before a single record is handed on."""

    def __init__(self, path: Path, params: XmlParams, progress: Progress) -> None:
        size, first = readable_size(path, params.max_file_size, of_text=True), self.examining
        self._path, self._params = path, params
        self._reading: ByteProgress = lambda done: progress(first + (1 - first) * min(1.0, done / size))
        self._form = form_of(path, params)
        self._template, self._found = self._examined(lambda done: progress(first * min(1.0, done / size)))

    def _examined(self, progress: ByteProgress) -> tuple[RecordTemplate | None, Found]:
        """Template of the fast reader, if it can read the file, and what is in the file."""
        raise NotImplementedError

    def _changed(self) -> InputError:
        """Error of a file that is not, to its end, what was found."""
        raise NotImplementedError

    @property
    def is_plain(self) -> bool:
        """Whether the records are written plainly, so that the fast reader is used."""
        return self._template is not None

    @property
    def numbers(self) -> NumberNotation:
        """How the file writes numbers."""
        return NumberNotation(self._params.decimal)

    @property
    def layout(self) -> Layout:
        """What is needed to write the file again; see `write_xml`."""
        return layout_of(self._form.opening, self._found, self._params, self._form.details)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records as string columns; null: no element, "": an empty one."""
        if self._template is None:
            yield from self._form.stream(self._found.columns, self._reading)
            return
        schema = pa.schema([(name, pa.string()) for name in self._found.variables])
        try:
            for cut in self._template.cuts(self._path, self._reading):
                yield pa.record_batch(cut.columns(), schema=schema)
        except (Deviation, Unlearnt):
            raise self._changed() from None


class XmlReading(_Reading):
    """An XML file that has been examined from end to end and found to be flat records."""

    examining = 0.4

    def _examined(self, progress: ByteProgress) -> tuple[RecordTemplate | None, Found]:
        # Both readers look at the whole file before a single record is handed on: a form that changes in the last
        # record must not leave records behind that were read under another assumption.
        try:
            learnt = self._form.template()
            template: RecordTemplate | None = learnt
            found = _plain(self._path, learnt, progress)
        except Deviation:
            template, found = None, self._form.examine(progress)
        if not found.columns:
            name = self._form.opening.record.tag
            hint = "Values are child elements of the record, or attributes of it and of those."
            raise DataError(Problem(f"the records <{name}> have no variables in them", Place(str(self._path)), hint))
        return template, found

    def _changed(self) -> InputError:
        return DataError(Problem("the file was changed while it was being read", Place(str(self._path))))


class XmlReadingOnce(_Reading):
    """An XML file that is taken to be written plainly to its end; its layout is what its beginning says."""

    def _examined(self, progress: ByteProgress) -> tuple[RecordTemplate, Found]:
        del progress
        try:
            template = self._form.template()
        except Deviation:
            raise self._changed() from None
        return template, Found(list(template.columns))

    def _changed(self) -> InputError:
        return ReadAgain("the file is not written plainly")


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
    nested=NestedFormat(write=write_nested, open=NestedXml),
    params=XmlParams,
    writes_text=True,
    format=Format(
        holds=FormatFacts(
            types="texts; numbers and dates are recognised by their cells, or declared",
            missing_codes="codes stay in their cells, without what they mean; empty, nil and absent elements differ",
            dates="texts of any declared form",
            precision="every digit",
            texts="up to `max_text` characters, without control characters",
            names="names of XML elements, `@NAME` for attributes",
            file_itself="namespaces and prefixes; attributes of records are variables, those around them only by "
            "`keep_attributes`; comments and instructions stay behind",
        ),
        omits_empty_variables=True,
        refuse_unwritable=refuse_unwritable,
    ),
    summary="XML records: a root element, one element for each record, one child of it for each variable.",
)
