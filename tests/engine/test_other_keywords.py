"""Keywords of other systems: what ends a program says what to write, and a call of something else says nothing of ours."""

import inspect

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.other_keywords import _WORDS, keyword_answer
from scanviz.engine.tracebacks import program_frames

STREAMS = T.random.RandomStreams(1)
ROWS = [(function, keyword) for function, words in _WORDS.items() for keyword in words if function]


def notes_of(error):
    with program_frames(error):
        shown = list(getattr(error, "__notes__", ()))
    assert not getattr(error, "__notes__", ())  # as it was, when it has been printed
    return shown


@pytest.mark.parametrize(("function", "keyword"), ROWS)
def test_a_keyword_that_is_told_is_one_that_the_function_does_not_have(function, keyword):
    places = (STREAMS, scanviz, T, T.random)
    found = next(getattr(place, function) for place in places if hasattr(place, function))
    taken = inspect.signature(found).parameters
    assert keyword not in taken or taken[keyword].kind is inspect.Parameter.VAR_POSITIONAL
    words = f"{found.__name__}() got an unexpected keyword argument {keyword!r}"
    assert keyword_answer(TypeError(words), {"it": found}) == _WORDS[function][keyword]


def test_a_refused_keyword_of_another_system_says_what_to_write():
    with pytest.raises(TypeError, match="'avg'") as caught:
        STREAMS.normal(size=(2, 3), avg=0.0)
    assert notes_of(caught.value) == ["  write:    loc=…"]
    with pytest.raises(TypeError, match="'states'") as caught:
        scanviz.scan(lambda x_t: x_t, T.vector("x"), states=[None])
    assert notes_of(caught.value) == ["  write:    outputs_info=…"]


def test_functions_of_others_and_keywords_that_nobody_has_are_let_alone():
    def rows(shape):
        return shape

    with pytest.raises(TypeError) as caught:
        rows(inplace=True)
    assert notes_of(caught.value) == []
    with pytest.raises(TypeError) as caught:
        scanviz.function(flavour=1)
    assert notes_of(caught.value) == []


@pytest.mark.parametrize("name", ["optimizer", "compute_test_value", "device"])
def test_a_setting_of_another_system_says_what_to_write(name):
    with pytest.raises(scanviz.ScanvizError, match=f"no setting `{name}`(?s:.*)write:"):
        setattr(scanviz.config, name, "None")
    with pytest.raises(AttributeError, match="expected: one of floatX, .*mode"):
        getattr(scanviz.config, name)
    assert not hasattr(scanviz.config, name)


def test_a_size_by_place_says_where_it_stands():
    with pytest.raises(scanviz.ScanvizError, match=r"size=\(2, 3\), by name"):
        STREAMS.uniform((2,), 0.0, 1.0)
    with pytest.raises(TypeError, match="multiple values") as caught:
        STREAMS.binomial((2, 3), n=1, p=0.5)
    assert notes_of(caught.value) == ["  write:    size=(2, 3), by name"]
