"""A set of edits as a rule file of another language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from maskwright.edits.languages.conversion.binary_comparison import Grids
from maskwright.edits.languages.conversion.schematron_file import schematron_file
from maskwright.edits.languages.conversion.yaml_file import yaml_file
from maskwright.edits.languages.r_validate.writer import validate_file
from maskwright.foundation.errors import EditError
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.languages.conversion.converted import Converted

Target = Literal["yaml", "schematron", "validate"]
TARGETS: tuple[Target, ...] = ("yaml", "schematron", "validate")


def convert_edits(
    edits: EditSet,
    target: Target,
    *,
    record: str = "Record",
    decimals: int | Mapping[str, int | None] = 4,
    dates: Mapping[str, str] | None = None,
    empty: Mapping[str, tuple[str, ...]] | None = None,
) -> Converted:
    """Edits as a rule file in YAML, in Schematron or for R's validate, with the same verdict on every record.

    Parameters
    ----------
    edits : EditSet
    target : {"yaml", "schematron", "validate"}
        The last: rules of the R package validate.
    record : str, default "Record"
        Schematron: element that holds one record, for rules that do not name one.
    decimals : int or mapping of name to int or None, default 4
        Schematron: most decimals of the variables. XPath calculates in binary64; half a unit of the last place decides
        its comparisons.
    dates : mapping of name to str, optional
        Schematron: variables that are dates, and how they are written. XPath 1.0 calculates with those written
        ``%Y-%m-%d``; rules on others are refused.
    empty : mapping of name to tuple of str, optional
        Schematron: texts of cells that mean "no value", besides an empty cell: no rule is false of such a cell.

    Returns
    -------
    Converted

    Raises
    ------
    EditError
        Edits that the target cannot say, each by name with the reason.

    Examples
    --------
    >>> import maskwright as mw
    >>> converted = mw.convert_edits(mw.EditSet.parse(["wages + pensions == income"]), "schematron", decimals=0)
    >>> print(converted.text)
    <?xml version="1.0" encoding="UTF-8"?>
    ...
      <pattern id="edit-1">
        <rule context="Record">
          <assert test="not(number(wages) + number(pensions) &lt; number(income) or ...
    """
    if target not in TARGETS:
        raise EditError(unknown_name("rule language", target, TARGETS))
    if target == "yaml":
        return yaml_file(edits)
    if target == "validate":
        return validate_file(edits)
    known, otherwise = ({}, decimals) if isinstance(decimals, int) else (decimals, Grids.otherwise)
    grids = Grids(known, otherwise, dates or {}, empty or {})
    return schematron_file(edits, record, grids)
