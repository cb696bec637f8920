"""Pictures as SVG: every point where its numbers say, every label readable, the same bytes each time."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.experiments.pictures.figure import Figure, Panel, Series, drawn_at, places_of, scale_of, text_width
from maskwright.experiments.pictures.formats import CORNERS, MARKERS, svg_text, write_png

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = ("circle", *CORNERS)
X = np.array([1.0, 4.0, 9.0, 20.0])
Y = np.array([30.0, 8.0, 5.0, 1.0])


def drawn(*series: Series, **panel) -> ET.Element:
    """The elements of a picture with one panel."""
    shown = Panel(series, panel.pop("x_title", "risk"), "loss", **panel)
    return ET.fromstring(svg_text(Figure("a title", 648.0, 403.0, ((shown,),))))


def texts(svg: ET.Element) -> list[str]:
    return [str(each.text) for each in svg.iter(f"{SVG}text")]


def centres(svg: ET.Element) -> np.ndarray:
    """Of the circles, in the order in which they were drawn; the last belongs to the legend."""
    circles = list(svg.iter(f"{SVG}circle"))
    return np.array([[float(each.attrib["cx"]), float(each.attrib["cy"])] for each in circles])


def test_points_stand_where_their_numbers_say() -> None:
    points = centres(drawn(Series(X, Y, "family")))[:-1]
    right, down = np.diff(points, axis=0).T
    assert right == pytest.approx(np.diff(X) * right[0] / (X[1] - X[0]), abs=0.1)
    assert down == pytest.approx(np.diff(Y) * down[0] / (Y[1] - Y[0]), abs=0.1)
    assert (right > 0).all()
    assert (down > 0).all(), "smaller losses are further down"


def test_numbers_along_an_axis_stand_where_they_are() -> None:
    """Read back from the picture: a straight line through the numbers predicts each point."""
    svg = drawn(Series(X, Y, "family"))
    along = [each for each in svg.iter(f"{SVG}text") if each.attrib.get("text-anchor") == "middle"]
    numbers = [
        (float(str(each.text)), float(each.attrib["x"])) for each in along if re.fullmatch(r"[\d.]+", str(each.text))
    ]
    assert len(numbers) >= 4
    slope, start = np.polyfit(*np.array(numbers).T, 1)
    assert centres(svg)[:-1, 0] == pytest.approx(start + slope * X, abs=0.05)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_drawn_for_each_point_and_in_the_legend(shape) -> None:
    svg = drawn(Series(X, Y, "family", "#0072B2", shape))
    kind = "circle" if shape == "circle" else "polygon"
    marks = [each for each in svg.iter(f"{SVG}{kind}") if each.attrib["fill"] == "#0072B2"]
    assert len(marks) == len(X) + 1
    assert set(SHAPES) == set(MARKERS)


def test_labels_are_texts_whatever_they_hold() -> None:
    names = {'k<3 & "all" > 2': (1.0, 30.0)}
    said = texts(drawn(Series(X, Y, "<b>&amp;"), x_title="a < b", names=names))
    assert {"<b>&amp;", "a < b", *names} <= set(said)


def test_lines_bars_and_outlines() -> None:
    spread = np.array([0.0, 1.0, 0.0, 2.0])
    svg = drawn(
        Series(X, Y, "noise", y_spread=spread, x_spread=spread),
        Series(X, Y, "front", shape=None, line="level_after"),
        Series(X[:1], Y[:1], "best", size=12.0, hollow=True),
    )
    paths = [each.attrib["d"] for each in svg.iter(f"{SVG}path")]
    assert sum(bool(re.fullmatch(r"M[\d. ]+(H[\d.]+V[\d.]+){3}", path)) for path in paths) == 1
    bars = [each for each in svg.iter(f"{SVG}path") if "stroke-opacity" in each.attrib]
    assert len(bars) == 4, "a spread of 0 has no bar"
    assert sum(each.attrib["fill"] == "none" for each in svg.iter(f"{SVG}circle")) == 2


def test_the_same_picture_has_the_same_bytes() -> None:
    figure = Figure("t", 600.0, 300.0, ((Panel((Series(X, Y, "a"),), "x"),) * 2,), y_title="score", note="a note")
    assert svg_text(figure) == svg_text(figure)
    assert "-0 " not in svg_text(figure)


def test_panels_side_by_side_share_the_vertical_axis() -> None:
    low, high = Series(X, Y, "low"), Series(X, Y * 10, "high")
    svg = ET.fromstring(svg_text(Figure("t", 900.0, 300.0, ((Panel((low,), "k"), Panel((high,), "p")),))))
    found = centres(svg)[:8]
    values = np.concatenate([Y, Y * 10])
    slope, start = np.polyfit(values, found[:, 1], 1)
    assert slope < 0
    assert found[:, 1] == pytest.approx(start + slope * values, abs=0.02)
    assert found[4:, 0].min() > found[:4, 0].max()


@pytest.mark.parametrize("values", [[], [5.0], [0.0, 0.0], [1e-12, 2e-12], [-3.0, 1e9], [math.nan, 2.0]])
def test_any_numbers_have_an_axis(values: list[float]) -> None:
    scale = scale_of(np.array(values))
    shares = scale.shares(np.array([each for each in values if not math.isnan(each)]))
    assert ((shares > 0) & (shares < 1)).all()
    assert len(scale.ticks(6)) >= 2


@given(
    low=st.floats(-1e6, 1e6), span=st.floats(1e-3, 1e6), most=st.integers(2, 12), whole=st.booleans(),
)  # fmt: skip
def test_what_is_written_along_an_axis_is_what_stands_there(low: float, span: float, most: int, whole: bool) -> None:
    scale = scale_of(np.array([low, low + span]), whole=whole)
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    values = np.array([value for value, _ in ticks])
    assert ((scale.shares(values) >= -1e-6) & (scale.shares(values) <= 1 + 1e-6)).all()
    assert (np.diff(values) > 0).all()
    assert [float(text) for _, text in ticks] == pytest.approx(values.tolist(), rel=1e-9, abs=1e-9)
    assert not whole or all(value == round(value) for value in values.tolist())


def test_a_logarithmic_axis_goes_through_zero() -> None:
    values = np.array([-50.0, 0.0, 0.5, 1.0, 10.0, 1e4])
    assert drawn_at(values, 1.0) == pytest.approx([-1 - math.log10(50), 0.0, 0.5, 1.0, 2.0, 5.0])
    scale = scale_of(values, 1.0)
    assert (np.diff(scale.shares(values)) > 0).all()
    assert [text for _, text in scale.ticks(20)] == [
        *("-100", "-10", "-1", "0"), *("1", "10", "100", "1000", "10000"),
    ]  # fmt: skip
    assert len(scale.ticks(3)) <= 4


def test_names_have_places_that_are_free() -> None:
    rng = np.random.default_rng(3)
    dots = rng.uniform(0, 400, (60, 2))
    names = {f"cell {n}": (dots[n], np.array([text_width(f"cell {n}", 7.0), 8.4])) for n in range(20)}
    found = places_of(names, np.array([[0.0, 0.0], [400.0, 400.0]]), dots, 4.0)
    assert len(found) >= 15
    boxes = [box for _, box in found.values()]
    for number, box in enumerate(boxes):
        assert (box >= 0).all()
        assert (box <= 400).all()
        assert (np.hypot(*(dots - np.clip(dots, box[0], box[1])).T) >= 4.0).all()
        for other in boxes[:number]:
            assert (box[1] <= other[0]).any() or (other[1] <= box[0]).any()


def test_a_text_is_no_wider_than_the_room_for_it() -> None:
    """In DejaVu Sans, which is among the widest of the usual fonts and comes with matplotlib."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family="DejaVu Sans")
    for text in ("microaggregation k=5 group_size=2", "rank_swapping p=10", "ILLI fit jilt", "distance_record_linkage"):
        assert TextPath((0, 0), text, size=7.0, prop=font).get_extents().width <= text_width(text, 7.0)


def test_matplotlib_draws_the_same_picture_to_the_same_bytes(tmp_path) -> None:
    series = (
        Series(X, Y, "noise", y_spread=Y / 10, x_spread=X / 10), Series(X, Y, "curve", line="straight"),
        Series(X, Y, "front", shape=None, line="level_before"), Series(X[:1], Y[:1], "best", size=12.0, hollow=True),
    )  # fmt: skip
    panel = Panel(series, "k", linear_up_to=1.0, whole_x=True, names={"a name": (4.0, 8.0)})
    figure = Figure("t", 900.0, 500.0, ((panel, panel), (panel,)), y_title="score", note="a note")
    for name in ("one.png", "other.png"):
        write_png(figure, tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert len(texts(ET.fromstring(svg_text(figure)))) > 20
