"""What a file of a statistical package says of its variables, as declarations: labels, kinds, missing codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright import VariableDeclaration
from maskwright_builtin.sources.statistical.form import Code, code_text, letter_text
from maskwright_builtin.sources.statistical.moments import as_moments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright_builtin.sources.statistical.form import Moments, VariableForm


def declaration(
    form: VariableForm, cells: Any, letters: Any = None, dates: Any = None, moments: Moments | None = None
) -> VariableDeclaration:
    """Declaration of a variable, as far as its file tells.

    Texts are categories. Numbers are categories where the file says so by their measure and they are whole, or where
    all of them have labels; they are quantities where the measure is a scale.

    `cells`: shape (n,). `letters`: missing values that are letters; shape (n,). `dates`: the cells as dates, where they
    are; shape (n,). `moments`: how the package counts dates.
    """
    is_looked_at = form.labels or form.missing or form.measure in ("nominal", "ordinal")
    found = _found(cells) if is_looked_at else []
    codes = _missing_codes(form, found)
    named = [] if letters is None else sorted(each for each in pc.unique(letters).to_pylist() if each is not None)
    text: Callable[[Code], str] = code_text
    if dates is not None and moments is not None:
        text = lambda code: _moment_text(code, form.format, dates.type, moments)  # noqa: E731
    missing = {text(code): form.labels.get(code, "") for code in codes}
    if not form.is_text:
        tagged = {letter_text(code): meaning for code, meaning in form.labels.items() if isinstance(code, str)}
        missing |= {letter: tagged.get(letter, "") for letter in dict.fromkeys([*named, *tagged])}
    labels = tuple(
        (text(code), meaning)
        for code, meaning in form.labels.items()
        if code not in codes and (form.is_text or not isinstance(code, str))
    )
    facts: dict[str, Any] = {}
    kind, categories = _kind(form, [code for code in found if code not in codes], is_date=dates is not None)
    if kind is None and letters is not None and dates is None:
        kind = "continuous"
    if kind is not None:
        facts["type"] = kind
    if categories:
        facts["categories"] = categories
    if form.label:
        facts["label"] = form.label
    if labels:
        facts["labels"] = labels
    if missing:
        facts["missing"] = tuple(missing.items())
    return VariableDeclaration(**facts)


def _found(cells: Any) -> list[Code]:
    held = pa.array(cells, from_pandas=True) if isinstance(cells, np.ndarray) else cells
    return [each for each in pc.unique(held).to_pylist() if each is not None]


def _missing_codes(form: VariableForm, found: Sequence[Code]) -> list[Code]:
    """Codes that the file declares to be missing: single ones, and of ranges those that occur or have a label."""
    codes: dict[Code, None] = {}
    for each in form.missing:
        inside = sorted(code for code in {*found, *form.labels} if not isinstance(code, str) and each.holds(code))
        codes |= dict.fromkeys([each.lowest] if each.is_single else inside)
    return list(codes)


def _kind(form: VariableForm, found: Sequence[Code], *, is_date: bool) -> tuple[str | None, tuple[str, ...]]:
    labelled = bool(form.labels) and all(code in form.labels for code in found)
    if form.is_text:
        found = [code for code in found if code != ""]
        if form.measure == "ordinal" and found and all(code in form.labels for code in found):
            missing = [each.lowest for each in form.missing]
            return "ordinal", tuple(str(code) for code in form.labels if code not in missing)
        return "nominal", ()
    if is_date:
        return None, ()
    is_whole = all(not isinstance(code, str) and code == int(code) for code in found if code not in (np.inf, -np.inf))
    if form.measure in ("nominal", "ordinal") and is_whole:
        return form.measure, ()
    if form.measure == "unknown" and found and labelled:
        return "nominal", ()
    return ("continuous", ()) if form.measure == "scale" else (None, ())


def _moment_text(code: Code, variable_format: str, kind: Any, moments: Moments) -> str:
    """Text of a missing code of a date, as the dates are written."""
    moment = None if isinstance(code, str) else as_moments(np.array([code]), variable_format, moments)
    if moment is None:
        return code_text(code)
    try:
        return str(pc.cast(pc.cast(moment, kind), pa.string())[0])
    except pa.ArrowException:
        return str(pc.cast(moment, pa.string())[0])
