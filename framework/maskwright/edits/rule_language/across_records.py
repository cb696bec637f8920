"""Rules about all records of a file together: ``unique(id)``, ``sum(wages by household) == total``.

They are only checked: no method, and no adjustment, sees more records than its own. So they have no parts and no
variables to work on, as tests of an engine have none; their answer is computed from the columns of the whole file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from maskwright.edits import expression as x
from maskwright.edits.edit import Edit, FileTest
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from maskwright.edits.engines.engine_tests import EngineTest


def as_file_test(edit: Edit) -> Edit:
    """Edit that is checked on all records together, where its rule is about these; others as they are."""
    if not any(isinstance(node, (x.Unique, x.Aggregate)) for node in x.nodes(edit.expression)):
        return edit
    if edit.ranged:
        message = "a range of variables in a rule about several records"
        raise EditError(Problem(message, edit.place, "List the variables: sum(a, b, c).", edit=edit.name))
    if any(isinstance(node, x.Date) for node in x.nodes(edit.expression)):
        message = "a date in a rule about several records"
        raise EditError(Problem(message, edit.place, "Make two rules of it.", edit=edit.name))
    test = FileTest(x.variable_names(edit.expression))
    # It stands where a test of an engine does: whatever asks for one leaves the edit alone.
    return replace(edit, parts=(), variables=(), engine=cast("EngineTest", test))
