"""Numbers as libxml2 reads them, against libxml2."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

from maskwright.data.number_text import libxml2_numbers, write_numbers


@pytest.mark.parametrize("decimals", [0, 1, 2, 3, 4, 6, 9])
def test_the_reading_is_libxml2s(decimals: int) -> None:
    """Bit by bit, for the canonical text of random decimals of both signs."""
    rng = np.random.default_rng(decimals)
    values = np.round(rng.uniform(-9000, 9000, 3000), decimals)
    texts = write_numbers(values, np.zeros(len(values), dtype=bool), decimals).to_pylist()
    number = etree.XPath("number(string(.))")
    read = np.array([number(etree.fromstring(f"<x>{text}</x>")) for text in texts])
    np.testing.assert_array_equal(libxml2_numbers(values, decimals), read)


def test_the_known_case() -> None:
    """2.688 is read as the binary64 below it."""
    assert libxml2_numbers(np.array([2.688]), 3)[0] == np.nextafter(2.688, 0)
