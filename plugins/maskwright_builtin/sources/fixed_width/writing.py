"""Fixed-width files written: each cell padded to the width of its variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pyarrow.compute as pc

from maskwright import DataError, Layout, Place, Problem, Variable
from maskwright_builtin.sources.csv.source import write_csv
from maskwright_builtin.sources.files import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

NUMBER = r"^-?[0-9]+([.,][0-9]+)?$"


class Padding:
    """What was seen of a column: `kind` says how its cells are filled, `has_points` whether any has a decimal mark."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._before = self._behind = self._zeros = False
        self._all_full = True
        self.has_points = False

    def see(self, written: Any, text: Any) -> None:
        """Count what cells are like, as the file holds them and without the blanks around them."""
        filled = pc.greater(pc.binary_length(text), 0)
        is_number = pc.match_substring_regex(text, NUMBER)
        is_full = pc.equal(pc.utf8_length(text), self._width)
        self.has_points |= _any(pc.match_substring_regex(text, "[.,]"))
        self._before |= _any(pc.and_(filled, pc.starts_with(written, " ")))
        self._behind |= _any(pc.and_(filled, pc.ends_with(written, " ")))
        self._zeros |= _any(pc.and_(is_number, pc.match_substring_regex(text, r"^-?0[0-9]")))
        self._all_full &= not _any(pc.and_(is_number, pc.invert(is_full)))

    @property
    def kind(self) -> Literal["zeros", "left", "right", "full"]:
        """Zeros before numbers; cells at the left, or at the right; nothing seen of either."""
        if self._zeros and self._all_full:
            return "zeros"
        if self._before == self._behind:
            return "full"
        return "right" if self._before else "left"


def _any(flags: Any) -> bool:
    return bool(pc.any(flags).as_py())


def write_fixed_width(path: Path, batches: Iterable[Any], variables: tuple[Variable, ...], layout: Layout) -> None:
    """Write batches of string columns at the places of the original; places of what is not published are blank."""
    details = layout.details
    if layout.format == "fixed_width" and "separated" in details:
        as_read = Layout("csv", details["separated"], layout.as_written, layout.missing_as_written)
        write_csv(path, batches, variables, as_read)
        return
    refuse_unwritable(path, variables, layout)
    with writing(path) as file:
        before = b""
        for batch in batches:
            if batch.num_rows:
                lines = _lines(path, batch, {each.name: each for each in variables}, layout)
                file.write(before + _encoded(path, lines, details))
                before = details["line_end"].encode()
        if details["ends_with_line"]:
            file.write(before)


def _lines(path: Path, batch: Any, variables: Mapping[str, Variable], layout: Layout) -> Any:
    details = layout.details
    pieces, reached = [], 1
    for name in sorted(variables, key=lambda each: details["columns"][each]):
        start, width = details["columns"][name]
        if start > reached:
            pieces.append(" " * (start - reached))
        cells = batch.column(name)
        if name not in layout.as_written:
            cells = _padded(path, variables[name], cells, width, details)
        pieces.append(cells)
        reached = start + width
    if details["length"] >= reached:
        pieces.append(" " * (details["length"] - reached + 1))
    return pc.binary_join_element_wise(*pieces, "")


def _padded(path: Path, variable: Variable, cells: Any, width: int, details: Mapping[str, Any]) -> Any:
    cells, padding = pc.fill_null(cells, ""), details["paddings"][variable.name]
    is_number = variable.is_numeric and not variable.is_date
    if is_number and details["decimal"] != ".":
        cells = pc.replace_substring(cells, ".", details["decimal"])
    too_long = pc.sum(pc.greater(pc.utf8_length(cells), width)).as_py() or 0
    if too_long:
        message = f"variable {variable.name!r} has {too_long} cells that do not fit into its {width} characters"
        hint = "Declare fewer `decimals` for it, or bounds (`max:`); or write CSV, which has no widths."
        raise DataError(Problem(message, Place(str(path)), hint))
    if padding == "zeros":
        are_numbers = pc.match_substring_regex(cells, NUMBER)
        minus = pc.starts_with(cells, "-")
        positive = pc.utf8_lpad(cells, width, "0")
        negative = pc.binary_join_element_wise("-", pc.utf8_lpad(pc.utf8_slice_codeunits(cells, 1), width - 1, "0"), "")
        zeros = pc.if_else(minus, negative, positive) if width > 1 else positive
        return pc.if_else(are_numbers, zeros, pc.utf8_lpad(cells, width, " "))
    if padding == "left" or (padding == "full" and not is_number):
        return pc.utf8_rpad(cells, width, " ")
    return pc.utf8_lpad(cells, width, " ")


def _encoded(path: Path, lines: Any, details: Mapping[str, Any]) -> bytes:
    text = details["line_end"].join(lines.to_pylist())
    try:
        return bytes(text.encode(details["encoding"]))
    except UnicodeEncodeError:
        message = f"a cell has characters that {details['encoding']} cannot write"
        raise DataError(Problem(message, Place(str(path)), "Declare `encoding: utf-8`.")) from None


def refuse_unwritable(path: Path, variables: tuple[Variable, ...], layout: Layout) -> None:
    """Refuse variables whose places are not known; as `Source.refuse_unwritable`."""
    details = layout.details
    if layout.format == "fixed_width" and "separated" in details:
        return
    if layout.format != "fixed_width" or not {each.name for each in variables} <= details["columns"].keys():
        hint = "Write CSV, or another format that needs no widths."
        raise DataError(Problem("no places of the columns are known for a fixed-width file", Place(str(path)), hint))
