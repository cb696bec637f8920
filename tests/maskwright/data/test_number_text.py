"""Numbers as text follow XPath 1.0, and canonical text reads back as the same number."""

from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from maskwright.data import number_text
from maskwright.data.number_text import plain_text, read_many_numbers, read_numbers, write_numbers

EXPONENT = re.compile(r"[0-9.][eE]")


PLAIN = "7 -0 5. .5 -.5 1e3 +5 inf NaN 1_000 0x10 1,5 １２ . - --1 1.2.3 5- 007"
SPACED = (" 7 ", "- 5", "\u00a05", "", " ", "1 2", "\t\r\n3\n", "\x0b4")


@pytest.mark.parametrize("text", [*PLAIN.split(), *SPACED])
def test_number_of_a_text_is_xpath_number(text: str) -> None:
    """The oracle is libxml2, whose one deviation (it reads exponents) is left out."""
    spoken = read_numbers(pa.array([text]))
    root = etree.Element("r")
    try:
        root.text = text
    except ValueError:
        assert not spoken.is_number[0]
        return
    expected = root.xpath("number(.)")
    if EXPONENT.search(text):
        expected = math.nan
    assert np.array_equal(spoken.values, [expected], equal_nan=True)
    assert spoken.is_number[0] == (not math.isnan(expected))
    assert spoken.is_blank[0] == (text.strip(" \t\r\n") == "")


@given(
    texts=st.lists(st.none() | st.from_regex(r"-?[0-9]{0,25}\.?[0-9]{0,25}", fullmatch=True), min_size=1, max_size=6)
)
def test_numbers_are_correctly_rounded(texts: list[str | None]) -> None:
    spoken = read_numbers(pa.chunked_array([pa.array(texts, pa.string())]))
    for text, value, is_number in zip(texts, spoken.values, spoken.is_number, strict=True):
        assert is_number == bool(text and re.search("[0-9]", text))
        assert not is_number or value == float(text or "")
    fractions = [(text or "").partition(".")[2].rstrip("0") for text in texts]
    assert spoken.decimals == max(map(len, fractions))


CELLS = (
    st.none()
    | st.sampled_from([*PLAIN.split(), *SPACED, "é", "9007199254740993", "00", "-0.00", "0." + "1" * 23])
    | st.from_regex(r"[ \t\r\n]?-?[0-9]{0,17}\.?[0-9]{0,4}[ x]?", fullmatch=True)
)


@given(texts=st.lists(CELLS, min_size=1, max_size=6), skipped=st.integers(0, 1))
def test_compiled_code_reads_numbers_alike(texts: list[str | None], skipped: int) -> None:
    cells = pa.array(texts, pa.string()).slice(skipped)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(number_text, "MANY_CELLS", 0)
        compiled = read_many_numbers(cells)
    expected = read_numbers(cells)
    for name in ("values", "is_number", "is_blank"):
        assert getattr(compiled, name).tobytes() == getattr(expected, name).tobytes(), name
    for name in ("decimals", "digits", "only_digits", "leading_zeros"):
        assert getattr(compiled, name) == getattr(expected, name), name


def test_columns_without_cells_or_numbers() -> None:
    for cells in ([], [None, None], ["", "x"]):
        spoken = read_numbers(pa.array(cells, pa.string()))
        assert spoken.decimals == 0
        assert not spoken.is_number.any()
    assert read_numbers(pa.chunked_array([], pa.string())).values.shape == (0,)


@settings(max_examples=200)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
def test_text_without_a_grid_reads_back_as_the_same_number(values: list[float]) -> None:
    array = np.array(values)
    texts = write_numbers(array, np.zeros(len(array), dtype=bool), None)
    assert np.array_equal(read_numbers(texts).values, array)
    for text in texts.to_pylist():
        assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text)
        assert text != "-0"


@settings(max_examples=200)
@given(
    scaled=st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=6),
    decimals=st.integers(0, 8),
    missing=st.integers(0, 5),
)
def test_text_on_a_grid_has_no_more_decimals_and_is_nearest(scaled: list[int], decimals: int, missing: int) -> None:
    array = np.array([float(f"{number}e-{decimals}") for number in scaled])
    gone = np.arange(len(array)) == missing
    texts = write_numbers(array, gone, decimals)
    for value, is_gone, text in zip(array, gone, texts.to_pylist(), strict=True):
        if is_gone:
            assert text is None
            continue
        assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text)
        assert text != "-0"
        assert len(text.partition(".")[2]) <= decimals
        assert float(text) == value


@given(
    values=st.lists(
        st.floats(-1e17, 1e17) | st.integers(-2000, 2000).map(lambda each: each / 100), min_size=1, max_size=6
    ),
    decimals=st.integers(0, 24),
    digits=st.none() | st.integers(1, 26),
    missing=st.integers(0, 6),
)
def test_compiled_code_writes_numbers_alike(
    values: list[float], decimals: int, digits: int | None, missing: int
) -> None:
    array, gone = np.array(values), np.arange(len(values)) == missing
    array[gone] = np.nan
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(number_text, "MANY_CELLS", 0)
        compiled = write_numbers(array, gone, decimals, digits)
    compiled.validate(full=True)
    assert compiled.to_pylist() == write_numbers(array, gone, decimals, digits).to_pylist()


@pytest.mark.parametrize("decimals", [18, 19, 24])
def test_more_decimals_than_a_whole_number_holds(decimals: int) -> None:
    values = np.array([0.0, 7e-16 if decimals < 19 else 7e-19])
    texts = write_numbers(values, np.zeros(2, dtype=bool), decimals).to_pylist()
    assert texts[0] == "0"
    assert float(texts[1]) == values[1]


def test_values_off_the_grid_are_rounded_to_it() -> None:
    values = np.array([0.126, -0.004, 2.5, 1e17, -7.0])
    texts = write_numbers(values, np.zeros(5, dtype=bool), 2)
    assert texts.to_pylist() == ["0.13", "0", "2.5", "100000000000000000", "-7"]
    assert write_numbers(values[:3], np.zeros(3, dtype=bool), 2).to_pylist() == ["0.13", "0", "2.5"]


def test_plain_text_has_no_exponent() -> None:
    assert plain_text(1e22) == "1" + "0" * 22
    assert plain_text(-1.5e-7) == "-0.00000015"
    assert plain_text(-0.0) == "0"
