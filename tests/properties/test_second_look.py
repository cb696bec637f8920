"""The two evaluations of a written file agree on random rules and dirty cells."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.data.dataset import Dataset
from maskwright.edits.edit import Edit
from maskwright.edits.edit_set import EditSet
from maskwright.plugins.registry import find_source
from maskwright.release.file_validation import check_file
from maskwright.release.reference_validation import validate_by_reference

sys.path.insert(0, str(Path(__file__).parent))
from edit_language import condition, records

if TYPE_CHECKING:
    import pytest

BINDINGS = ("exact", "xpath1")


@given(st.integers(0, 2**32))
def test_both_agree_on_random_rules_and_dirty_cells(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)
    rows = [dict.fromkeys("abcs", "1"), *records(rng, 30)]
    edits = EditSet(
        tuple(
            Edit(f"{binding}-{number}", condition(rng, 3), (), tuple("abcs"), "", binding=binding)
            for number in range(4)
            for binding in BINDINGS
        )
    )
    folder = tmp_path_factory.mktemp("dirty")
    texts = {name: {"type": "nominal"} for name in "abcs"}
    elements = ["".join(f"<{name}>{cell}</{name}>" for name, cell in row.items() if cell is not None) for row in rows]
    (folder / "d.xml").write_text("<Data><Record>" + "</Record>\n<Record>".join(elements) + "</Record></Data>")
    (folder / "d.csv").write_text(
        "a,b,c,s\n" + "".join(",".join(cell or "" for cell in row.values()) + "\n" for row in rows)
    )
    for file_format, options in (("xml", {"record": "Record"}), ("csv", {"delimiter": ","})):
        path, source = folder / f"d.{file_format}", find_source(file_format)
        data = mw.read(path, variables=texts, **options)
        layout = source.open(path, source.params(**options), lambda _: None).layout
        outcome = check_file(path, source, source.params(**options), edits)
        masked = Dataset(data.columns, layout)
        without = validate_by_reference(path, source, masked, edits, outcome, masked)
        assert set(without) <= {each.name for each in edits}
