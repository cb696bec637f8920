"""What the pipeline's ``data:`` section says of a table, and how it becomes one SELECT."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, model_validator

from maskwright import DataError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

NESTED_HINT = "Microdata are flat: name the columns you need in `query:`, and give each part a column of its own."


class TableParams(BaseModel, extra="forbid", frozen=True):
    """Options of databases in the pipeline's ``data:`` section."""

    table: str | None = Field(
        default=None,
        min_length=1,
        description="Table or view to read (schema.table if need be). Left out: the only one.",
    )
    query: str | None = Field(
        default=None,
        min_length=1,
        description="One SELECT instead of a table; it can read nothing but the database.",
    )
    order_by: tuple[str, ...] = Field(
        default=(), description="Columns that order the records. Left out: as the table or the query gives them."
    )

    @model_validator(mode="after")
    def _is_one_of_them(self) -> TableParams:
        if self.table is not None and self.query is not None:
            raise ValueError("'table' and 'query' are both given, and only one can be read")
        return self


@dataclass(frozen=True)
class Table:
    """A table or view of a database, of which `schema` is part of the name unless it is the first."""

    schema: str
    name: str
    is_view: bool
    is_in_first_schema: bool = True

    @property
    def shown(self) -> str:
        """How `table:` names it."""
        return self.name if self.is_in_first_schema else f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """How SQL names it."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"


def quoted(name: str) -> str:
    """Name of a table or column in SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Text in SQL, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"


def chosen_table(params: TableParams, there: Sequence[Table], place: Place) -> Table:
    """Table that is to be read: the one that is named, or the only one."""
    tables = [table for table in there if not table.is_view]
    if params.table is None:
        if len(tables) == 1:
            return tables[0]
        shown = ", ".join(table.shown for table in tables[:10]) + ", ..." * (len(tables) > 10)
        if not tables:
            raise DataError(Problem("the database has no tables", place))
        hint = f"Name one: `table: NAME` in the data section, or --option table=NAME. There are: {shown}."
        raise DataError(Problem(f"the database has {len(tables)} tables, and one is to be read", place, hint))
    wanted = params.table
    for table in there:
        if wanted in (table.shown, f"{table.schema}.{table.name}"):
            return table
    raise DataError(Problem(f"the database has no table {wanted!r}", place, nearest(wanted, [t.shown for t in there])))


def nearest(name: str, valid: Sequence[str]) -> str | None:
    """Hint with the name that was probably meant; None without one."""
    lowered = {each.lower(): each for each in reversed(valid)}
    found = difflib.get_close_matches(name.lower(), list(lowered), 1)
    return f"Did you mean {lowered[found[0]]!r}?" if found else None


def ordered(params: TableParams, names: Sequence[str], place: Place) -> str:
    """ORDER BY clause that the options ask for; empty without one."""
    for name in params.order_by:
        if name not in names:
            hint = nearest(name, names)
            raise DataError(Problem(f"`order_by` names {name!r}, and there is no such column", place, hint))
    return f" ORDER BY {', '.join(map(quoted, params.order_by))}" if params.order_by else ""


def refuse_twice(names: Sequence[str], place: Place) -> None:
    """Stop at columns that have one name; databases do not tell upper from lower case."""
    lowered = [name.lower() for name in names]
    twice = sorted({name for name, low in zip(names, lowered, strict=True) if lowered.count(low) > 1})
    if twice:
        hint = "Give each a name of its own with AS; to a database 'A' and 'a' are one."
        raise DataError(Problem(f"columns have the same name: {', '.join(twice[:5])}", place, hint))


def refuse_nested(nested: Sequence[str], place: Place) -> None:
    """Stop at columns that hold no flat values."""
    if nested:
        message = f"columns that are lists, structures or bytes: {', '.join(nested[:5])}"
        raise DataError(Problem(message, place, NESTED_HINT))
