"""Polynomials: a ring, in a normal form, printed as people write them."""

from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.sizes.polynomial import Polynomial

POLYNOMIALS = st.recursive(
    st.integers(-5, 5).map(Polynomial.of) | st.sampled_from("abc").map(Polynomial.of),
    lambda each: st.tuples(each, each, st.sampled_from("+-*")).map(
        lambda t: t[0] + t[1] if t[2] == "+" else t[0] - t[1] if t[2] == "-" else t[0] * t[1]
    ),
    max_leaves=6,
)
SIZES = st.fixed_dictionaries({name: st.integers(0, 9) for name in "abc"})


@given(POLYNOMIALS, SIZES)
def test_the_printed_form_of_a_polynomial_evaluates_to_its_value(p, sizes):
    powers = str(p).replace("·", "*").replace("²", "**2").replace("³", "**3").replace("^", "**")
    assert eval(powers, {}, sizes) == p.at(sizes)


def test_negative_terms_are_printed_as_a_difference():
    n, m = Polynomial.of("n"), Polynomial.of("m")
    assert str(n * m - n * 2 - 1) == "m·n - 2·n - 1"
    assert str(Polynomial.of(0) - n + m) == "m - n"
    assert str(Polynomial.of(0) - n * n) == "-n²"
    assert (str(Polynomial.of(-3)), str(n - n)) == ("-3", "0")


@given(POLYNOMIALS, st.integers(8, 40))
def test_a_long_polynomial_is_cut_between_terms(p, longest):
    whole, text = str(p), p.text(longest)
    assert len(text) <= longest
    if len(whole) <= longest:
        assert text == whole
    else:
        kept = text.removesuffix("…").removesuffix(" + ")
        assert whole.startswith(kept) and (text[-4:] != " + …" or whole[len(kept) :][:3] in (" + ", " - "))


def test_the_first_term_is_the_one_that_stays():
    a = Polynomial.of("a")
    assert (a * a * -2 - a * 2).text(8) == "-2·a²…"  # there is room for it, and none for " + …"


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=4), st.randoms())
def test_unknowns_of_any_kind_multiply_in_any_order(letters, random):
    """Names are sorted; other unknowns have no order of their own."""
    for kind in (str, lambda letter: (letter, 0)):
        shuffled = random.sample(letters, len(letters))
        first, second = Polynomial.of(1), Polynomial.of(1)
        for one, other in zip(letters, shuffled, strict=True):
            first, second = first * Polynomial.of(kind(one)), second * Polynomial.of(kind(other))
        assert first == second and hash(first) == hash(second) and (first - second).simplest == 0
