"""Machine code of compiled functions, cached by the content of their source and not by its date."""

from __future__ import annotations

import inspect
import re
import sys
from functools import lru_cache
from hashlib import sha256
from importlib.util import resolve_name
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import llvmlite  # type: ignore[import-untyped]
from numba.core import caching

if TYPE_CHECKING:
    from collections.abc import Iterator


Compiled = TypeVar("Compiled")

_Kept: Any = caching.FunctionCache
_Stored: Any = caching.CompileResultCacheImpl
_File: Any = caching.IndexDataCacheFile

# At the margin only: what is imported for type checkers is indented.
_IMPORTS = re.compile(r"^(?:from\s+([\w.]+)\s+import\s*(\([^)]*\)|[^\n]*)|import\s+([^\n]*))", re.MULTILINE)


def kernel_cache(function: Compiled) -> Compiled:
    """Keep the machine code of a function that Numba compiles, until its source or what it imports changes.

    What comes with an installation is used where it fits: the same sources, versions of Python, Numba and llvmlite, and
    kind of processor. Anything else is compiled on the first call and kept where Numba keeps it.

    Parameters
    ----------
    function : dispatcher
        What ``numba.njit`` returns; without ``cache=True``.

    Returns
    -------
    dispatcher
        The same one.

    Examples
    --------
    >>> from maskwright import kernel_cache
    >>> from numba import njit
    >>> @kernel_cache
    ... @njit(nogil=True)
    ... def total(values):
    ...     sum = 0.0
    ...     for value in values:
    ...         sum += value
    ...     return sum
    >>> total((1.0, 2.0))
    3.0
    """
    dispatcher: Any = function
    if not hasattr(dispatcher, "py_func"):  # compiling is switched off
        return function
    # Where there is no file, as at a prompt, or nowhere to write, it is compiled in each process.
    try:
        dispatcher._cache = _CachedKernels(dispatcher.py_func)  # Numba has no public place for another key
    except (OSError, RuntimeError):
        return function
    return function


def content_key(module: str, file: str) -> str:
    """Digest of a module's source and of all that it imports from its own package, directly or not."""
    found: dict[str, str] = {}
    waiting = [(module, file)]
    while waiting:
        name, path = waiting.pop()
        if name in found:
            continue
        stated = Path(path).stat()
        found[name], mentioned = _read(path, stated.st_mtime_ns, stated.st_size)
        package = getattr(sys.modules.get(name), "__package__", None) or name.rpartition(".")[0]
        for each in mentioned:
            wanted = resolve_name(each, package) if each.startswith(".") else each
            source = getattr(sys.modules.get(wanted), "__file__", None)
            if source is not None and wanted.partition(".")[0] == module.partition(".")[0]:
                waiting.append((wanted, source))
    digests = "\n".join(f"{name} {digest}" for name, digest in sorted(found.items()))
    return sha256(f"llvmlite {llvmlite.__version__}\n{digests}".encode()).hexdigest()


@lru_cache(maxsize=256)
def _read(path: str, _date: int, _size: int) -> tuple[str, tuple[str, ...]]:
    """Digest of a file, and the modules that it may import: of ``from a import b`` a module can be `a` and ``a.b``."""
    content = Path(path).read_bytes()
    return sha256(content).hexdigest(), tuple(_mentioned(content.decode("utf-8", "replace")))


def _mentioned(source: str) -> Iterator[str]:
    for match in _IMPORTS.finditer(source):
        listed = re.sub(r"#[^\n]*", "", match[2] or match[3]).strip("() ").split(",")
        names = [each.split()[0] for each in listed if each.split()]
        if match[1] is None:
            yield from names
            continue
        yield match[1]
        yield from (match[1] + name if match[1].endswith(".") else f"{match[1]}.{name}" for name in names)


class _ByContent(_Stored):  # type: ignore[misc]
    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        key = content_key(py_func.__module__, inspect.getfile(py_func))
        self.locator.get_source_stamp = lambda: key


class _CachedKernels(_Kept):  # type: ignore[misc]
    """Machine code of a function: what is kept on this machine, else what was installed beside its source."""

    _impl_class = _ByContent

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        folder = Path(inspect.getfile(py_func)).parent / "__pycache__"
        self._installed: Any = None
        if Path(self._cache_path) != folder and folder.is_dir():
            stamp = self._impl.locator.get_source_stamp()
            self._installed = _File(str(folder), self._impl.filename_base, stamp)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        kept = super()._load_overload(sig, target_context)
        if kept is not None or self._installed is None:
            return kept
        data = self._installed.load(self._index_key(sig, target_context.codegen()))
        return None if data is None else self._impl.rebuild(target_context, data)
