"""A pipeline that masks one variable of a statistical package's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def masked(tmp_path: Path) -> Callable[..., Path]:
    """Mask `income` of a file, whose other variables are declared to be published as they are."""

    def mask(source: str, others: list[str], output: str, declared: str = "", code: int = 0) -> Path:
        roles = "".join(f"    {name}: {{role: other}}\n" for name in others)
        (tmp_path / "pipeline.yaml").write_text(
            f"maskwright: 1\ndata:\n  source: {source}\n  variables:\n{roles}{declared}"
            "edits: [income > -100000]\nprotect: [{method: additive_noise, params: {p: 0.5}}]\n"
            f"output: {{data: {output}, record: run.json}}\nseed: 1\n",
            encoding="utf-8",
        )
        assert main(["run", str(tmp_path / "pipeline.yaml"), "--quiet"]) == code
        return tmp_path / output

    return mask
