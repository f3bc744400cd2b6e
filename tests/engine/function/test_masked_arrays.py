"""Arrays with masked values are refused, not computed with silently."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T

MASKED = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
UNMASKED = np.ma.masked_array([1.0, 2.0, 3.0])


def called(value):
    x = T.vector("x")
    return scanviz.function([x], x * 2)(value)


def set_later(value):
    s = scanviz.shared(np.zeros(3), "s")
    s.set_value(value)
    return s.get_value() * 2


WAYS = {
    "an input": called,
    "a constant": lambda value: T.as_tensor(value).eval() * 2,
    "a shared variable": lambda value: scanviz.shared(value).get_value() * 2,
    "a value set later": set_later,
}


@pytest.mark.parametrize("way", WAYS)
def test_an_array_with_masked_values_is_refused(way):
    with pytest.raises(scanviz.ScanvizError, match="has masked values") as caught:
        WAYS[way](MASKED)
    assert isinstance(caught.value, TypeError) and caught.value.found == "1 of 3 values masked"


@pytest.mark.parametrize("way", WAYS)
def test_an_array_without_masked_values_is_accepted(way):
    assert WAYS[way](UNMASKED).tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_a_whole_number_beyond_64_bits_is_reported_as_one(number):
    x = T.tensor("uint64", (None,), "x")
    with pytest.raises(scanviz.ScanvizError, match="is too large for integers of 64 bits") as caught:
        x > number  # noqa: B015  # it fails before there is a value
    assert caught.value.fix == f"float({number})"
