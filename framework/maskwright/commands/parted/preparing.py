"""What the tasks of every large run import: once for all workers that are copies of one process."""

from __future__ import annotations

from importlib import import_module

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
    """Import these modules, and all plugins."""
    from maskwright.plugins.registry import plugins

    for name in MODULES:
        import_module(name)
    plugins()
