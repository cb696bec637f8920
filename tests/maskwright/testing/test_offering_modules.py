"""The contract check looks at the modules that offer a plugin, and at no others that happen to be loaded."""

from __future__ import annotations

import importlib
import sys
import textwrap
from importlib.metadata import EntryPoint

import pytest

from maskwright.testing import checks, measure_checks

OFFERS = """
    from maskwright import Measure, Measurement, hookimpl

    def compute(comparison, params, rng):
        return Measurement(0.0)

    PLUGIN = Measure(name="{name}", compute=compute, summary="Always 0.", reference="none")

    @hookimpl
    def register_measures():
        return [PLUGIN]
"""
SAYS = "CONTRACT = 2\n"


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Write modules of a namespace package, each on a path of its own, and import them."""
    before = set(sys.modules)

    def load(**texts: str):
        for name, text in texts.items():
            folder = tmp_path / name / "kit_namespace"
            folder.mkdir(parents=True)
            (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
            monkeypatch.syspath_prepend(folder.parent)
        return [importlib.import_module(f"kit_namespace.{name}") for name in texts]

    yield load
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "kit_namespace":
            del sys.modules[name]


def contract_check(plugin) -> object:
    """Do the first check that the kit collects."""
    return measure_checks([plugin])[0].values[0]()


def test_a_module_without_its_contract_is_named(loaded) -> None:
    (silent,) = loaded(silent=OFFERS.format(name="kit_silent"))
    with pytest.raises(AssertionError, match=r"kit_namespace\.silent does not say which contract"):
        contract_check(silent.PLUGIN)


def test_other_packages_of_a_namespace_do_not_count(loaded) -> None:
    own, *_ = loaded(
        own=SAYS + textwrap.dedent(OFFERS.format(name="kit_own")),
        other=OFFERS.format(name="kit_other"),
        broken="from maskwright import hookimpl\n@hookimpl\ndef register_measures():\n    raise RuntimeError('no')\n",
        mocked="from unittest.mock import call\n",
    )
    assert contract_check(own.PLUGIN) is None


def test_a_module_of_tests_may_import_the_hook(loaded) -> None:
    own, _ = loaded(
        own=SAYS + textwrap.dedent(OFFERS.format(name="kit_own")),
        tests="from kit_namespace.own import register_measures\n",
    )
    assert contract_check(own.PLUGIN) is None


def test_of_an_installed_package_the_module_counts_that_its_entry_point_names(loaded, monkeypatch) -> None:
    own, _ = loaded(
        own=SAYS + textwrap.dedent(OFFERS.format(name="kit_own")),
        entry="from kit_namespace.own import register_measures\n",
    )
    installed = [EntryPoint("kit", "kit_namespace.entry", "maskwright")]
    monkeypatch.setattr(checks, "entry_points", lambda group: installed)
    with pytest.raises(AssertionError, match=r"kit_namespace\.entry does not say which contract"):
        contract_check(own.PLUGIN)
