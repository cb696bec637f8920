"""What the tasks of every large run import: once for all workers that are copies of one process."""

from __future__ import annotations

from importlib import import_module
from typing import Any

MODULES = (
    *(f"maskwright.commands.parted.{name}" for name in ("scanning", "shuffling", "protecting", "finishing")),
    "maskwright.masking.adjusting.polyhedron_projection_kernel",
    "pyarrow.parquet",
    # Arrow imports it for the first array that it makes of Python's, or gives to NumPy.
    "pandas",
    # Numba imports it for the first kernel.
    "scipy.linalg.cython_blas",
)


def import_what_tasks_need() -> None:
    """Import these modules and all plugins, and do what the first rule and the first kernel of a process wait for."""
    from maskwright.edits.rule_language.grammar import parse_value
    from maskwright.plugins.registry import plugins

    for name in MODULES:
        import_module(name)
    plugins()
    parse_value("x")
    numba: Any = import_module("numba.core.registry").cpu_target
    numba.typing_context.refresh()
    numba.target_context.refresh()
