"""Which rewrites a mode stands for: the oracle uses none unless it is asked to."""

import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError


def built(mode):
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h + T.exp(x_t), x, 0.0)
    return scanviz.function([x], h[-1], mode=mode)


def test_the_reference_tier_rewrites_nothing():
    f = built("reference")
    assert len(f.rewrites) == 0 and f.backend == "reference"
    assert f([0.0, 0.0]) == 2.0


@pytest.mark.parametrize("mode", ["numpy", "auto", None, Mode("numpy")])
def test_every_other_tier_rewrites(mode):
    assert len(built(mode).rewrites) > 0


def test_the_reference_tier_rewrites_on_request(monkeypatch):
    assert len(built(Mode("reference", "all")).rewrites) > 0
    assert len(built(Mode("reference").including("ScanSaveMem")).rewrites) > 0
    monkeypatch.setattr(scanviz.config, "rewrites", "all")
    assert len(built("reference").rewrites) > 0


def test_an_explicit_setting_applies_to_every_tier(monkeypatch):
    monkeypatch.setattr(scanviz.config, "rewrites", "none")
    assert len(built("numpy").rewrites) == 0


@pytest.mark.parametrize("mode", [Mode("reference"), Mode("reference", "all"), Mode("numpy", "none"), Mode()])
def test_the_repr_of_a_mode_evaluates_to_the_mode(mode):
    assert eval(repr(mode)) == mode


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (dict(linker="py", optimizer="fast_run"), "scanviz.Mode('numpy', rewrites='all')"),
        (dict(linker="cvm", optimizer=None), "scanviz.Mode('auto', rewrites='none')"),
        (dict(optimizer="fast_compile"), "scanviz.Mode('auto', rewrites='none')"),
        (dict(linker="c"), "scanviz.Mode('native')"),
    ],
)
def test_a_mode_of_theano_is_refused_with_the_equivalent_mode(given, same):
    with pytest.raises(ScanvizTypeError) as caught:
        Mode(**given)
    assert str(caught.value).splitlines()[-1].split(maxsplit=1) == ["write:", same]
    assert all(f"`{name}`" in str(caught.value) for name in given) and "test_mode.py" in str(caught.value)
