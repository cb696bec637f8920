"""Markers on parameters: what they say of a method, what is wrong with them, and old names told the new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
import pytest
from pydantic import BaseModel, Field, create_model

import maskwright as mw
from maskwright.foundation.yaml_document import from_python
from maskwright.foundation.yaml_models import read_model
from maskwright.pipeline.reading import resolve_file
from maskwright.plugins.contract import contract_error

if TYPE_CHECKING:
    from pathlib import Path


class PartitionParams(BaseModel):
    """A model in place of a name."""

    mdav: dict[str, int] = {}


class AllMarked(BaseModel, extra="forbid", frozen=True):
    """Parameters of every kind, and one of none."""

    size: Annotated[int | None, mw.PromisesK()] = Field(default=3, ge=2)
    keys: Annotated[tuple[str, ...], mw.KeyVariables()] = ("a",)
    masked: Annotated[dict[str, tuple[float, ...]] | None, mw.DependentVariables()] = None
    read: Annotated[Sequence[str], mw.IndependentVariables()] = ("b", "c")
    weighted: Annotated[bool, mw.UsesWeights()] = False
    cut: Annotated[str | dict[str, dict[str, Any]] | PartitionParams, mw.NamesPartition()] = "mdav"
    plain: int = 7


class Inherited(AllMarked, frozen=True):
    """A model that has its markers from another."""


class Clusters(BaseModel):
    """A promise without keys."""

    k: Annotated[int, mw.PromisesK()] = 4


def protect(block: mw.Block, params: BaseModel, rng: object) -> mw.Masked:
    raise AssertionError("not called here")


def compute(comparison: mw.Comparison, params: BaseModel, rng: object) -> mw.Measurement:
    raise AssertionError("not called here")


@pytest.mark.parametrize("model", [AllMarked, Inherited])
def test_a_method_reads_its_parameters_by_what_they_mean(model: type[AllMarked]) -> None:
    method = mw.Method(name="m", protect=protect, params=model)
    assert contract_error("method", method) is None
    usual = model()
    assert (method.promised_k(usual), method.promised_k(model(size=None)), method.promised_k(model(size=9))) == (
        3,
        None,
        9,
    )
    assert method.key_variables(usual) == ("a",)
    assert method.dependent_variables(usual) == ()
    assert method.dependent_variables(model(masked={"x": (1.0,), "y": ()})) == ("x", "y")
    assert method.independent_variables(usual) == ("b", "c")
    assert (method.uses_weights(usual), method.uses_weights(model(weighted=True))) == (False, True)
    assert method.partition(usual) == "mdav"
    assert method.parameter(mw.PromisesK) == "size"
    assert method.parameter(mw.NamesPartition) == "cut"


def test_with_keys_a_promise_is_of_classes_and_not_of_clusters() -> None:
    classes, clusters = (
        mw.Method(name="m", protect=protect, params=AllMarked),
        mw.Method(name="m", protect=protect, params=Clusters),
    )
    assert (classes.has_keys, classes.promises_clusters, classes.makes_clusters) == (True, False, False)
    assert (clusters.has_keys, clusters.promises_clusters, clusters.makes_clusters) == (False, True, True)
    assert classes.smallest_cluster(AllMarked()) is None
    assert clusters.smallest_cluster(Clusters()) == 4


def test_a_method_without_markers_promises_and_names_nothing() -> None:
    method, params = mw.Method(name="m", protect=protect), mw.NoParams()
    assert (method.promised_k(params), method.smallest_cluster(params), method.partition(params)) == (None, None, None)
    assert (
        method.key_variables(params) == method.dependent_variables(params) == method.independent_variables(params) == ()
    )
    assert not method.uses_weights(params)
    assert not method.makes_clusters


def of(**fields: Any) -> type[BaseModel]:
    return create_model("Params", **fields)


WRONG_METHODS = [
    (
        of(k=(Annotated[int, mw.PromisesK()], 3), size=(Annotated[int, mw.PromisesK()], 3)),
        "PromisesK marks both 'k' and 'size'; there can be one",
    ),
    (of(k=(Annotated[float, mw.PromisesK()], 3.0)), "marked PromisesK, so its type must be int or int | None"),
    (of(k=(Annotated[bool, mw.PromisesK()], True)), "marked PromisesK, so its type must be int"),
    (of(keys=(Annotated[str, mw.KeyVariables()], "")), "marked KeyVariables, so its type must be tuple[str, ...]"),
    (of(keys=(Annotated[dict[str, int], mw.KeyVariables()], {})), "marked KeyVariables, so its type must be"),
    (of(keys=(Annotated[tuple[int, ...], mw.KeyVariables()], ())), "marked KeyVariables, so its type must be"),
    (of(y=(Annotated[list[int], mw.DependentVariables()], [])), "tuple[str, ...] or list[str], or a dict by name"),
    (of(x=(Annotated[set[str], mw.IndependentVariables()], set())), "marked IndependentVariables, so its type"),
    (of(w=(Annotated[int, mw.NamesVariables()], 0)), "marked NamesVariables, so its type must be tuple[str, ...]"),
    (of(w=(Annotated[int, mw.UsesWeights()], 0)), "marked UsesWeights, so its type must be bool"),
    (of(w=(Annotated[int, mw.PublishedIf("x")], 0)), "PublishedIf('x'), which is no parameter that is true or false"),
    (of(p=(Annotated[int, mw.NamesPartition()], 0)), "marked NamesPartition, so its type must be str"),
    (of(k=(Annotated[int, mw.PromisesK], 3)), "parameter 'k': write PromisesK(), not PromisesK"),
    (of(k=(Annotated[int, mw.PromisesK()] | None, 3)), "'k': put PromisesK() around its whole type, not inside"),
    (of(new=(Annotated[int, mw.Formerly("old")], 3), old=(int, 3)), "'new' cannot be Formerly('old'), which is a"),
]


@pytest.mark.parametrize(("model", "error"), WRONG_METHODS, ids=[error for _, error in WRONG_METHODS])
def test_a_wrong_marker_is_told_in_a_sentence(model: type[BaseModel], error: str) -> None:
    said = contract_error("method", mw.Method(name="m", protect=protect, params=model))
    assert said is not None
    assert error in said


NAMING = {
    "listed": list[str] | None,
    "some": int | Annotated[list[str], Field(min_length=1)] | None,
    "several": Literal["all"] | list[list[str]],
    "by_name": dict[str, float],
}


def test_only_methods_have_markers_but_anything_may_be_renamed() -> None:
    wrong = contract_error("measure", mw.Measure(name="m", compute=compute, params=Clusters))
    assert wrong == "parameter 'k' is marked PromisesK, which means something in methods only"
    names = {name: (Annotated[kind, mw.NamesVariables()], None) for name, kind in NAMING.items()}
    assert contract_error("measure", mw.Measure(name="m", compute=compute, params=of(**names))) is None
    renamed = of(known=(Annotated[int, mw.Formerly("seen")], 1))
    assert contract_error("measure", mw.Measure(name="m", compute=compute, params=renamed)) is None


def test_an_old_name_in_a_file_is_told_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "incomes.csv").write_text("income\n1\n2\n")
    file = tmp_path / "pipeline.yaml"
    file.write_text(
        "maskwright: 1\ndata: {source: incomes.csv}\nedits: []\nprotect:\n- method: sampling\n  params:\n"
        "    fraction: 0.5\n    whole_clusters: true\noutput: {data: out.csv}\nseed: 1\n"
    )
    with pytest.raises(mw.PipelineError) as caught:
        resolve_file(file)
    (problem,) = caught.value.problems
    assert problem.message == "no parameter of sampling called 'whole_clusters'"
    assert problem.hint == "It is now called 'whole_households'."
    assert problem.place is not None
    assert (problem.place.line, problem.place.column) == (8, 5)


def test_an_old_name_in_a_call_is_told_the_new_one() -> None:
    with pytest.raises(mw.InputError) as caught:
        mw.protect(
            pd.DataFrame({"x": [1.0, 2.0]}), "sampling", params={"fraction": 0.5, "whole_clusters": True}, seed=1
        )
    (problem,) = caught.value.problems
    assert "called 'whole_clusters'" in problem.message
    assert problem.hint == "It is now called 'whole_households'."


def test_an_old_name_of_a_measures_parameter_is_told_too() -> None:
    model = create_model("Params", __config__={"extra": "forbid"}, known=(Annotated[int, mw.Formerly("seen")], 1))
    problems: list[mw.Problem] = []
    assert read_model(model, from_python({"seen": 2}, mw.Place()), problems, "parameter") is None
    assert [(each.message, each.hint) for each in problems] == [
        ("no parameter called 'seen'", "It is now called 'known'.")
    ]
