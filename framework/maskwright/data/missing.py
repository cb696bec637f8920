"""Cells without a value: declared missing codes, and how the file says of each such cell that nothing is there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.number_text import WHITE_SPACE, XPATH_NUMBER, has_white_space, plain_text, read_numbers
from maskwright.foundation.arrays import arrow_array, arrow_texts, numbers_of, truths_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NO_CELL = -1
HAD_VALUE = -2


@dataclass(frozen=True, eq=False)
class MissingCells:
    """How each missing cell of a column is written in the file.

    Attributes
    ----------
    texts : tuple of str
        The different texts: missing codes as the file writes them, "" for an empty cell.
    codes : ndarray of shape (n,), int16 or int32
        Position in `texts` of each missing cell; -1: there is no cell at all; -2: the file has a value there, so that a
        cell that is missing now was suppressed. Read-only.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import MissingCells
    >>> cells = MissingCells(("-9",), np.array([0, -2, -1], dtype=np.int16))
    >>> cells.written(np.array([True, True, True]), suppressed_as="s").to_pylist()
    ['-9', 's', None]
    """

    texts: tuple[str, ...]
    codes: NDArray[Any]

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)

    def taken(self, rows: NDArray[np.int64] | slice) -> MissingCells:
        """Those of these records, in this order."""
        return MissingCells(self.texts, self.codes[rows])

    def suppressed(self, gone: NDArray[np.bool_]) -> MissingCells:
        """The same, where also the codes of some cells were taken away; `gone` has shape (n,)."""
        return MissingCells(self.texts, np.where(gone, HAD_VALUE, self.codes).astype(self.codes.dtype))

    def suppressed_text(self, suppressed_as: str | None, unless_known: str | None = "") -> str | None:
        """Text of a suppressed cell, as `written` gives it; None: no cell."""
        return suppressed_as if suppressed_as is not None else self._mostly(unless_known)

    def written(self, missing: NDArray[np.bool_], suppressed_as: str | None, unless_known: str | None = "") -> Any:
        """Text of each missing cell, null where there is none, and where the cell is not missing.

        Parameters
        ----------
        missing : ndarray of shape (n,), bool
            Which cells are missing now.
        suppressed_as : str or None
            Text of suppressed cells; None: as most cells that were missing before are written.
        unless_known : str or None
            Text of suppressed cells where no cell was missing before, but for those with a code (default: an empty
            one); None: no cell, which is what a format of types has.

        Returns
        -------
        pyarrow.StringArray of shape (n,)
        """
        nothing = self.suppressed_text(suppressed_as, unless_known)
        had_value = self.codes == HAD_VALUE
        # A list of Python's would make Arrow import pandas.
        texts = arrow_texts([*self.texts, nothing or ""])
        places = np.where(had_value, len(self.texts), self.codes).astype(np.int64)
        is_null = ~missing | (self.codes == NO_CELL) | (had_value & (nothing is None))
        return texts.take(arrow_array(places, is_null))

    def kinds(self, suppressed_as: str | None) -> NDArray[np.int64]:
        """Number of each code's text: 0 for that of suppressed cells, 1, 2, ... for others.

        Codes -1 and -2, of no cell at all and of one that was suppressed, are places from the end.
        """
        suppressed = self.suppressed_text(suppressed_as)
        numbers: dict[str | None, int] = {suppressed: 0}
        return np.array([numbers.setdefault(text, len(numbers)) for text in (*self.texts, suppressed, None)])

    def _mostly(self, unless_known: str | None) -> str | None:
        empty = np.count_nonzero(self.codes == self.texts.index("")) if "" in self.texts else 0
        absent = np.count_nonzero(self.codes == NO_CELL)
        if absent == empty == 0:
            return unless_known
        return None if absent > empty else ""


def missing_texts(text: Any, missing: NDArray[np.bool_]) -> MissingCells | None:
    """How the missing cells of a column of texts are written; None where no cell is missing."""
    if not missing.any():
        return None
    gone = text.filter(arrow_array(missing)).combine_chunks().dictionary_encode()
    gone = gone.combine_chunks() if isinstance(gone, pa.ChunkedArray) else gone
    texts = tuple(gone.dictionary.to_pylist())
    codes = np.full(len(missing), HAD_VALUE, dtype=_code_type(texts))
    codes[missing] = numbers_of(gone.indices, np.int64, NO_CELL)
    return MissingCells(texts, codes)


def missing_numbers(
    values: NDArray[np.float64], missing: NDArray[np.bool_], absent: NDArray[np.bool_]
) -> MissingCells | None:
    """How the missing cells of a column of numbers are stored, `absent` ones as no cell; None where none is missing."""
    if not missing.any():
        return None
    coded = missing & ~absent & ~np.isnan(values)
    found, places = np.unique(values[coded], return_inverse=True)
    texts = tuple(plain_text(value) for value in found.tolist())
    codes = np.full(len(missing), HAD_VALUE, dtype=_code_type(texts))
    codes[missing] = NO_CELL
    codes[coded] = places
    return MissingCells(texts, codes)


def _code_type(texts: tuple[str, ...]) -> type[np.int16 | np.int32]:
    return np.int16 if len(texts) < 2**15 else np.int32


def is_code_text(text: Any, codes: Sequence[str]) -> NDArray[np.bool_]:
    """Whether cell texts are one of the codes, white space around them aside; shape (n,).

    A code that is a number stands for that number with any zeros after its point or decimal comma: -9 for ``-9.00`` and
    ``-9,00``. It does not stand for a text with leading zeros, since the code ``09`` of a classification is not the
    number 9.

    `text`: shape (n,).
    """
    if not codes:
        return np.zeros(len(text), dtype=np.bool_)
    bare = [code.strip(WHITE_SPACE) for code in codes]
    trimmed = pc.utf8_trim(text, characters=WHITE_SPACE) if has_white_space(text) else text
    found = truths_of(pc.is_in(trimmed, value_set=arrow_texts(bare).cast(text.type)))
    for code, pattern in zip(bare, map(_same_number, bare), strict=True):
        if pattern:
            whole = code.partition(".")[0]
            begins = pc.or_(pc.starts_with(trimmed, f"{whole}."), pc.starts_with(trimmed, f"{whole},"))
            if pc.any(begins).as_py():
                found |= truths_of(pc.and_(begins, pc.match_substring_regex(trimmed, f"^{pattern}$")))
    return found


def _same_number(code: str) -> str:
    """Pattern of the texts that are the same number as a code; "" where it is none."""
    bare = code.strip(WHITE_SPACE)
    if not re.search(XPATH_NUMBER, bare):
        return ""
    whole, _, fraction = bare.partition(".")
    fraction = fraction.rstrip("0")
    # Three zeros behind a comma may be thousands.
    return re.escape(whole) + (rf"[.,]{fraction}0*" if fraction else r"(?:\.0*|,(?:0{0,2}|0{4,}))?")


def is_code_number(values: NDArray[np.float64], codes: Sequence[str]) -> NDArray[np.bool_]:
    """Whether numbers equal one of the codes that are numbers; shape (n,)."""
    return np.isin(values, code_numbers(codes)) if codes else np.zeros(len(values), dtype=np.bool_)


def code_numbers(codes: Sequence[str]) -> NDArray[np.float64]:
    """Those of the codes that are numbers."""
    parsed = read_numbers(arrow_texts(codes))
    return np.asarray(parsed.values[parsed.is_number], dtype=np.float64)
