"""Fixtures and settings for all tests, and kernels compiled once before the processes that run the tests start."""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
import warnings
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# A package of its own: its tests run where it is installed, from test_example_plugin.py.
collect_ignore = ["example_plugin"]

REFERENCE = Path(__file__).parent / "reference"
TARRAGONA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tarragona.csv"

ALL_EXAMPLES = bool(os.environ.get("SLOW"))
"""Whether random tests run ten times as many examples, and products of parameters in full."""

# Plans say the same on every machine, whatever ran there before; processes that tests start inherit it.
os.environ["MASKWRIGHT_CACHE"] = ""

# The same examples on every machine and in every run; other work on the machine is no failure.
settings.register_profile(
    "maskwright", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=20
)  # fmt: skip
settings.register_profile("slow", settings.get_profile("maskwright"), max_examples=200)
settings.load_profile("slow" if ALL_EXAMPLES else "maskwright")


@pytest.fixture(scope="session")
def reference() -> Path:
    """Folder with the reference files; its README names their sources."""
    return REFERENCE


@pytest.fixture(scope="session")
def reference_file() -> Callable[[str], Path]:
    """Path of a reference file by name; Tarragona, whose licence is not known, may be absent."""

    def find(name: str) -> Path:
        if name != TARRAGONA.name:
            return REFERENCE / name
        if not TARRAGONA.is_file():
            pytest.skip("the licence of the Tarragona file is not known: it is not part of the project")
        return TARRAGONA

    return find


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks() -> Iterator[None]:
    """Files of tests need not outlast a loss of power; in which order files are made durable has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def waived_kinds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waive the kinds of doubts that a test marked `waived` names, as if its pipelines named each subject."""
    kinds = {kind for marker in request.node.iter_markers("waived") for kind in marker.args}
    if not kinds:
        return
    from maskwright.foundation.doubts import DOUBT_KINDS
    from maskwright.pipeline.file_model import Waiver
    from maskwright.release import release_decision

    assert kinds <= DOUBT_KINDS.keys()
    usual = release_decision._waiver_of

    def waiver_of(doubt, waivers):  # type: ignore[no-untyped-def]
        if doubt.kind not in kinds:
            return usual(doubt, waivers)
        subject = {DOUBT_KINDS[doubt.kind].about: (doubt.subject,)}
        return usual(doubt, waivers) or Waiver(doubt=doubt.kind, because="the file of the test is distorted", **subject)

    monkeypatch.setattr(release_decision, "_waiver_of", waiver_of)


@pytest.fixture(scope="module")
def no_sockets_of_dask() -> Iterator[None]:
    """Sockets that Dask leaves open are let go with the tests that used it, not in the middle of others."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of each product that is marked `covering`, the cases that cover it."""
    if ALL_EXAMPLES:
        return
    left_out = {id(item) for item in _beyond_covering(items)}
    if left_out and not config.option.keyword and not any("::" in argument for argument in config.args):
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
        items[:] = [item for item in items if id(item) not in left_out]


def _beyond_covering(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Cases that ``covering(n)`` leaves out: of a product every value stays, with one in `n` of the others' values."""
    places: dict[tuple[str, tuple[str, ...]], dict[tuple[int, ...], int]] = {}
    for item in items:
        marker = item.get_closest_marker("covering")
        case = getattr(item, "callspec", None)
        if marker is None or case is None:
            continue
        place = 0
        for names in _factors(item, case.params):
            # The indices that pytest keeps count the cases, and not the values of each parameter.
            known = places.setdefault((item.nodeid.partition("[")[0], names), {})
            place += known.setdefault(tuple(id(case.params[name]) for name in names), len(known))
        if place % marker.args[0]:
            yield item


def _factors(item: pytest.Item, names: Iterable[str]) -> set[tuple[str, ...]]:
    """Names of the parameters of a case, those together that have their values together."""
    stated = [marker.args[0] for marker in item.iter_markers("parametrize")]
    lists = [each.replace(" ", "").split(",") if isinstance(each, str) else each for each in stated]
    together = {name: tuple(each) for each in lists for name in each}
    return {together.get(name, (name,)) for name in names}


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays to the end: that it is no garbage need not be found out again and again."""
    gc.collect()
    gc.freeze()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels before the processes start that run the whole suite side by side."""
    config = session.config
    cache = getattr(config, "cache", None)
    # Processes that tests start would else compile the sources of the package again, each for itself.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    side_by_side = len(getattr(config.option, "tx", None) or ()) > 1
    files_named = any(Path(argument.partition("::")[0]).is_file() for argument in config.args)
    if side_by_side:
        # Processes that run side by side would wait for each other's threads of linear algebra, which spin.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not side_by_side or files_named or config.option.collectonly:
        return
    state = _state_of_kernels()
    if cache is not None and cache.get("maskwright/kernels", None) == state:
        return
    print("compiling the numeric kernels, about a minute; their machine code is kept", flush=True)
    program = str(Path(__file__).with_name("compile_kernels.py"))
    compilers = [subprocess.Popen([sys.executable, program, which]) for which in ("partitions", "others")]
    codes = [compiler.wait() for compiler in compilers]
    if cache is not None and not any(codes):
        cache.set("maskwright/kernels", state)


def _state_of_kernels() -> str:
    """What their machine code depends on: compiler, interpreter, where it is kept, and how old the code is."""
    found = hashlib.sha256(f"{sys.version} {version('numba')} {os.environ.get('NUMBA_CACHE_DIR')}".encode())
    for package in ("maskwright", "maskwright_builtin"):
        spec = find_spec(package)
        for folder in spec.submodule_search_locations or () if spec else ():
            for path in sorted(Path(folder).rglob("*.py")):
                if b"@compiled" in path.read_bytes():
                    found.update(f"{path} {path.stat().st_mtime_ns}".encode())
    return found.hexdigest()
