"""Scripts whose functions are run again by `scanviz rewrites`, and how it is started on them."""

from tests.cli.commands import command
from tests.cli.scripts import RNN

SCRIPT = f"""{RNN}
for _ in range(3):
    f(np.ones((4, 2)), np.ones((2, 3)))
print("done")
"""
WRONG = """
import numpy as np, scanviz
from scanviz import tensor as T
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.ops import elementwise as e
from scanviz.engine.rewrites import families, rule as rules
families.all_rules()
rules.ORDER = (*rules.ORDER, "wrong")

@rules.rule(name="wrong", phase="simplify", on=(e.tanh,))
def wrong(node, level):
    "Make a mistake."
    return rules.Match({node.outputs[0]: build_one(Op(e.sin), node.inputs[0])}, "tanh is nearly sin")

x = T.vector("x")
right = scanviz.function([x], T.exp(x) + T.exp(x), name="right")
f = scanviz.function([x], T.exp(T.tanh(x)) + T.exp(T.tanh(x)), name="f")
right(np.ones(3)), f(np.ones(3))
"""
UNCALLED = """
import numpy as np, scanviz
from scanviz import tensor as T
x = T.vector("x")
def build(name):
    return scanviz.function([x], T.exp(x) + T.exp(x), name=name)
build("never")
build("once")(np.ones(3))
"""


def runner(folder):
    """Write the scripts into a folder, and return what runs the command there."""
    for name, text in (("rnn", SCRIPT), ("wrong", WRONG), ("uncalled", UNCALLED), ("none", "print('hi')\n")):
        (folder / f"{name}.py").write_text(text)

    def scanviz_(*arguments):
        return command("rewrites", *arguments, cwd=folder, COLUMNS="120")

    return scanviz_
