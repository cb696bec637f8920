"""Declared missing codes: cell texts, or numbers, that mean "no value"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.number_text import WHITE_SPACE, read_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def is_code_text(text: Any, codes: Sequence[str]) -> NDArray[np.bool_]:
    """Whether cell texts are one of the codes, white space around them aside; shape (n,).

    Parameters
    ----------
    text : pyarrow.StringArray of shape (n,)
    codes : sequence of str
    """
    if not codes:
        return np.zeros(len(text), dtype=np.bool_)
    trimmed = pc.utf8_trim(text, characters=WHITE_SPACE)
    wanted = pa.array([code.strip(WHITE_SPACE) for code in codes], text.type)
    return np.array(pc.fill_null(pc.is_in(trimmed, value_set=wanted), False), dtype=np.bool_)


def is_code_number(values: NDArray[np.float64], codes: Sequence[str]) -> NDArray[np.bool_]:
    """Whether numbers equal one of the codes that are numbers; shape (n,)."""
    if not codes:
        return np.zeros(len(values), dtype=np.bool_)
    spoken = read_numbers(pa.array(list(codes), pa.string()))
    return np.isin(values, spoken.values[spoken.is_number])


def code_note(name: str, count: int) -> str:
    """Sentence for the cells of a variable that hold a missing code."""
    what = "1 cell holds" if count == 1 else f"{count} cells hold"
    return f"{name}: {what} a declared missing code; the masked file has a missing cell there"
