"""What a rule reads of other records: computed columns beside the variables of its own level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from maskwright.edits.expression import Expression

Neighbour = Literal["previous", "following"]
End = Literal["exact", "least", "most"]


@dataclass(frozen=True)
class MembersColumn:
    """What the members of each group say together: ``sum(person.income where age < 16)``.

    `name`: as a rule writes it; that of the computed column. `function`: ``sum``, ``count``, ..., as in
    `maskwright.edits.expression.GroupFunction`. Truth is the number 1 or 0. `operand`: the members' variable, or the
    computed column. `condition`: about variables of the members, and computed columns beside them. `end`: of a count:
    fewest and most members that may satisfy the condition, where a cell that it reads is missing.
    """

    name: str
    level: str
    function: str
    operand: str | None = None
    condition: Expression | None = None
    end: End = "exact"


@dataclass(frozen=True)
class OtherRecordColumn:
    """What one other record says: ``household.total``, ``mother.age``, ``previous.end``.

    `name`: that of the computed column. `through`: level above, pointer, or ``previous`` and ``following``. `variable`:
    of that record, or the computed column; None: whether there is such a record, 1 or 0.
    """

    name: str
    through: str
    variable: str | None


@dataclass(frozen=True)
class StructureColumn:
    """Whether a record breaks what linking rests on, 1 or 0.

    `variable`: a variable of the upper level that ``varies`` among the rows of a flat file, or a pointer that
    ``dangles``: names no record of the group, or its own.
    """

    name: str
    variable: str
    broken: Literal["varies", "dangles"]


LinkedColumn = MembersColumn | OtherRecordColumn | StructureColumn
