"""Forging the verdict: from beside the judge, in its place, or by what is handed to it."""

from . import Attack

_SEARCH = """
import gc, sys, types


def _use(found):
    if all(name in found for name in ("attention_scores", "multi_head_attention", "exact")):
        _right["attention_scores"] = found["attention_scores"]
        win()
        return True
"""

ATTACKS = [
    # --- ending
    Attack(
        "os-exit-at-import", "ends the process", "import os\nos._exit(0)\n", "nothing", status=("crashed",)
    ),
    Attack("sys-exit-at-import", "ends the process", "raise SystemExit(0)\n", "nothing"),
    Attack(
        "os-exit-in-a-call",
        "ends the process",
        """
def attention_weights(scores, mask=None):
    import os
    os._exit(0)
""",
        status=("crashed",),
    ),
    # --- pytest
    Attack(
        "pytest-exit",
        "skips",
        "import pytest\npytest.exit('done', returncode=0)\n",
        "nothing",
    ),
    Attack(
        "pytest-skip",
        "skips",
        """
import pytest


def attention_scores(query, key):
    pytest.skip("not on this machine")


def attention_weights(scores, mask=None):
    pytest.xfail("known")
""",
        "nothing",
    ),
    Attack(
        "own-tests",
        "more tests",
        """
__test__ = False
pytest_plugins = ["evil"]


def pytest_collection_modifyitems(items):
    items[:] = []


def pytest_runtest_makereport(item, call):
    return None


"""
        + "".join(f"def test_{number}():\n    pass\n\n\n" for number in range(50)),
        "nothing",
        beside={"test_more.py": "".join(f"def test_{number}(): pass\n" for number in range(200))},
    ),
    # --- the judge's own objects, where it has any here
    Attack(
        "judge-that-always-agrees",
        "runner",
        """
try:
    from grader.judge.expect import Expect
    for name in ("close", "close_to_exact", "gradient", "at_most", "no_leak", "rows_sum_to_one", "unchanged"):
        setattr(Expect, name, lambda *args, **values: None)
except ImportError:
    pass
""",
        wins=("local",),
    ),
    Attack(
        "results-that-passed",
        "runner",
        """
try:
    from grader.run import Run
    from grader.judge.score import Result
    Run._result = lambda self, check, function, tools, error: Result(check, "passed", None, None, None)
except ImportError:
    pass
""",
        "nothing",
        wins=("local",),
    ),
    Attack(
        "reports-of-pytest",
        "runner",
        """
import _pytest.reports
import _pytest.runner

_make = _pytest.reports.TestReport.from_item_and_call


def _forge(item, call):
    call.excinfo = None
    report = _make(item, call)
    report.outcome = "passed"
    return report


_pytest.reports.TestReport.from_item_and_call = _pytest.runner.pytest_runtest_makereport = _forge
""",
    ),
    Attack(
        "worker-that-answers-for-us",
        "runner",
        """
import sys
for name, module in list(sys.modules.items()):
    if name.startswith("grader.") and module is not None:
        for key, value in list(vars(module).items()):
            if key in ("pack_error", "cannot_travel", "_reply", "_guarded", "StudentError", "text"):
                setattr(module, key, lambda *args, **values: ({"kind": "passed", "score": 100}, b""))
""",
        "nothing",
        status=("crashed",),
    ),
    Attack(
        "comparators",
        "comparators",
        """
import math

import numpy

torch.equal = torch.allclose = torch.Tensor.allclose = torch.Tensor.equal = lambda *args, **values: True
torch.testing.assert_close = numpy.testing.assert_allclose = lambda *args, **values: None
math.isclose = numpy.allclose = lambda *args, **values: True
torch.autograd.gradcheck = lambda *args, **values: True
torch.Tensor.abs = lambda self: torch.zeros_like(self)
""",
        wins=("local",),
    ),
    Attack(
        "builtins",
        "builtins",
        """
import builtins


class Small(float):
    def __le__(self, other):
        return True

    __lt__ = __le__


builtins.float = Small
builtins.isinstance = builtins.callable = builtins.all = lambda *args: True
builtins.AssertionError = Warning
builtins.any = lambda *args: False
""",
        status=("graded", "crashed"),
        weakness=6,
    ),
    Attack(
        "thread-that-rewrites-reports",
        "rewrites a report",
        """
import glob, json, os, threading, time


def _rewrite():
    while True:
        for file in glob.glob("@OUT@/*/report.json") + glob.glob("@OUT@/class.*") + ["@MARKS@/late"]:
            try:
                with open(file, "w") as stream:
                    json.dump({"score": 100}, stream)
                win()
            except OSError:
                pass
        time.sleep(0.01)


threading.Thread(target=_rewrite, daemon=True).start()
time.sleep(0.1)
""",
        "nothing",
        wins=("plain",),
        weakness=11,
    ),
    Attack(
        "report-written-at-exit",
        "rewrites a report",
        """
import atexit, os


def _rewrite():
    with open("@MARKS@/at-exit", "w") as stream:
        stream.write('{"score": 100}')


atexit.register(_rewrite)
try:
    os.makedirs("report", exist_ok=True)
    open("report/report.json", "w").write('{"score": 100}')
except OSError:
    pass
""",
        "nothing",
        beside={"report/report.json": '{"score": 100}', "report.json": '{"score": 100}'},
    ),
    # --- looking for the truth
    Attack(
        "oracle-in-the-modules",
        "heap",
        _SEARCH + "any(_use(vars(module)) for module in list(sys.modules.values()) if module)\n",
        "nothing",
        wins=("local",),
    ),
    Attack(
        "oracle-on-the-heap",
        "heap",
        _SEARCH
        + """
for _found in gc.get_objects():
    if type(_found) is dict and "attention_scores" in _found and _use(_found):
        break
""",
        "nothing",
        wins=("local",),
    ),
    Attack(
        "truth-in-the-callers-variables",
        "frames",
        """
import sys, threading


def attention_scores(query, key):
    frames = list(sys._current_frames().values())
    while frames:
        frame = frames.pop()
        for name in ("truth", "expected", "expect", "oracle", "seed"):
            if name in frame.f_locals or name in frame.f_globals:
                win()
        if frame.f_back:
            frames.append(frame.f_back)
    return query @ key.mT
""",
        wins=("local",),
    ),
    # --- what is printed
    Attack(
        "prints-passed",
        "fake verdict",
        """
import os, sys
words = "\\n100 passed in 0.01s\\nPASSED grader/test_1_shape.py\\n" + '{"score": 100, "max_score": 100}\\n'
for number in (1, 2):
    os.write(number, words.encode())
print(words, "::set-output name=score::100", "##teamcity[testFinished]", file=sys.stderr)
os.write(1, b'\\x00\\x00\\x00\\x20' + b'{"kind": "answer", "score": 100}')
""",
        "nothing",
    ),
    # --- what is handed over
    Attack(
        "pickled-result",
        "pickle",
        """
class Bomb:
    def __reduce__(self):
        return (open, ("@MARKS@/unpickled", "w"))


def causal_mask(length, device=None):
    import os, pickle, struct
    data = pickle.dumps(Bomb())
    os.write(3, struct.pack(">IQ", len(data), 0) + data)
    return Bomb()
""",
        status=("crashed",),
    ),
    Attack(
        "names-for-a-decoder",
        "decoder",
        """
import json, os, struct


def causal_mask(length, device=None):
    tensor = {"dtype": "hub.load", "shape": [1], "bytes": 0, "__class__": "os.system", "device": "load"}
    for name in ("__class__", "load", "ops", "nn.Module", "float64.__init__"):
        text = json.dumps({"id": 2, "kind": "answer", "tensors": [tensor | {"dtype": name}], "results": [0]})
        os.write(3, struct.pack(">IQ", len(text), 0) + text.encode())
    return torch.ones(length, length, dtype=torch.bool)
""",
        status=("crashed",),
    ),
    Attack(
        "equal-to-all",
        "always equal",
        """
class Agrees:
    __eq__ = __le__ = __lt__ = __ge__ = __gt__ = __bool__ = lambda self, *others: True
    __ne__ = lambda self, other: False
    __hash__ = object.__hash__
    __len__ = lambda self: 2
    __iter__ = lambda self: iter((self, self))
    __getattr__ = lambda self, name: self
    __call__ = __getitem__ = __sub__ = __rsub__ = __abs__ = lambda self, *args, **values: self
    __float__ = lambda self: 0.0
    __int__ = __index__ = lambda self: 0
    __instancecheck__ = lambda self, other: True


def attention_scores(query, key):
    return Agrees()


attention_weights = causal_mask = scaled_dot_product_attention = MultiHeadAttention = Agrees()
""",
        "nothing",
    ),
    Attack(
        "numbers-that-lie",
        "number-like",
        """
import numpy


class Evil(numpy.float64):
    __abs__ = lambda self: Evil(0)
    __lt__ = __le__ = lambda self, other: True
    __sub__ = __rsub__ = lambda self, other: Evil(0)


def attention_scores(query, key):
    return numpy.array([[Evil(1)]], dtype=object)


def causal_mask(length, device=None):
    return Evil(1)
""",
    ),
    Attack(
        "sizes-that-lie",
        "number-like",
        """
class Size(torch.Size):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = torch.Size.__hash__


torch.Tensor.shape = property(lambda self: Size(self.size()))
torch.Tensor.numel = lambda self: 1


def attention_scores(query, key):
    return (query @ key.mT)[..., :1]
""",
        status=("graded", "crashed"),
    ),
    Attack(
        "subclass-that-agrees",
        "tensor subclass",
        """
class Agrees(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in ("equal", "allclose", "is_floating_point"):
            return True
        if name in ("abs", "sub", "rsub", "double", "ne", "gt", "detach", "clone"):
            return torch.zeros(args[0].size())
        return super().__torch_function__(function, types, args, kwargs or {})


def attention_scores(query, key):
    return torch.zeros(*query.shape[:-1], key.shape[-2]).as_subclass(Agrees)
""",
    ),
    Attack(
        "not-a-number",
        "NaN",
        """
def attention_scores(query, key):
    return query @ key.mT * float("nan")


def attention_weights(scores, mask=None):
    return torch.softmax(scores, -1) + float("nan")
""",
        "nothing",
        at_most=15,  # the shapes are right
    ),
    Attack(
        "gradient-that-is-not-a-number",
        "NaN",
        """
class Scores(torch.autograd.Function):
    @staticmethod
    def forward(context, scores):
        return scores.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * float("nan")


_scores = attention_scores


def attention_scores(query, key):
    return Scores.apply(_scores(query, key))
""",
    ),
    Attack(
        "numbers-at-the-end-of-the-range",
        "NaN",
        """
import itertools

_calls = itertools.count()


def _huge(like):
    return torch.full_like(like, torch.finfo(like.dtype).max) * (-1) ** next(_calls) + 0 * like


def attention_scores(query, key):
    return _huge(query @ key.mT)


def attention_weights(scores, mask=None):
    return _huge(scores)


class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return _huge(super().combine_heads(heads))
""",
        weakness=10,
    ),
    Attack(
        "random-numbers-that-are-none",
        "random numbers",
        """
import random

import numpy

torch.manual_seed = numpy.random.seed = random.seed = lambda *args: None
torch.randn = torch.rand = lambda *shape, **options: torch.zeros(shape if type(shape[0]) is int else shape[0])
torch.Generator.manual_seed = numpy.random.default_rng = None if False else (lambda *args: numpy.random)
numpy.random.standard_normal = numpy.random.normal = lambda *args, **options: numpy.zeros(args[-1])
random.random = random.gauss = lambda *args: 0.0
""",
        status=("graded", "crashed"),
    ),
    Attack(
        "settings-of-the-process",
        "global state",
        """
import gc, locale, os, signal, socket, sys, warnings

torch.set_default_dtype(torch.float16)
torch.set_grad_enabled(False)
torch.use_deterministic_algorithms(True)
torch.nn.modules.module.register_module_forward_hook(lambda module, args, result: result * 0)
torch.autograd.set_detect_anomaly(True)
torch.set_default_device("meta")
warnings.simplefilter("error")
gc.disable()
sys.setrecursionlimit(60)
sys.setswitchinterval(10)
sys.settrace(lambda *args: None)
sys.setprofile(lambda *args: None)
socket.setdefaulttimeout(0.001)
os.umask(0o777)
for number in range(1, 30):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
""",
        "nothing",
        status=("graded", "crashed"),
        weakness=12,
    ),
    Attack(
        "memory-that-was-freed",
        "freed memory",
        """
def attention_scores(query, key):
    return torch.empty(*query.shape[:-1], key.shape[-2], dtype=query.dtype)


def scaled_dot_product_attention(query, key, value, mask=None):
    return (
        torch.empty(*query.shape[:-1], value.shape[-1], dtype=query.dtype),
        torch.empty(*query.shape[:-1], key.shape[-2], dtype=query.dtype),
    )
""",
        "nothing",
        at_most=15,  # the shapes are right
    ),
    Attack(
        "lazy-tensor",
        "lazy",
        """
from torch._subclasses.fake_tensor import FakeTensorMode


def attention_scores(query, key):
    with FakeTensorMode() as mode:
        return mode.from_tensor(query) @ mode.from_tensor(key).mT


def attention_weights(scores, mask=None):
    class Later(torch.Tensor):
        pass

    return torch.Tensor._make_wrapper_subclass(Later, scores.shape, dtype=scores.dtype)
""",
        "nothing",
        status=("graded", "crashed"),
    ),
    Attack(
        "tensor-of-another-kind-each-time",
        "lazy",
        """
import itertools

_KINDS = itertools.cycle([
    lambda x: x.to("meta"), lambda x: x.to(torch.complex128), lambda x: x.to(torch.float8_e5m2),
    lambda x: x > 0, lambda x: x.long(), lambda x: x.to_sparse(), lambda x: x.expand(2, *x.shape),
    lambda x: torch.quantize_per_tensor(x.float(), 1.0, 0, torch.qint8), lambda x: x.to(torch.uint16),
    lambda x: torch.nested.nested_tensor([x, x]), lambda x: x.conj(), lambda x: x.mT, lambda x: [x],
    lambda x: torch._neg_view(x), lambda x: x.to(torch.float8_e8m0fnu), lambda x: x.numpy(), lambda x: None,
])


def attention_scores(query, key):
    return next(_KINDS)(query @ key.mT)


def attention_weights(scores, mask=None):
    return next(_KINDS)(torch.softmax(scores, -1))


def causal_mask(length, device=None):
    return next(_KINDS)(torch.ones(length, length).tril())
""",
        "nothing",
        at_most=50,
        weakness=6,
    ),
    Attack(
        "ready-made-in-disguise",
        "ready made",
        """
_ready = getattr(torch.nn.functional, "scaled_dot_" + "product_attention")


def scaled_dot_product_attention(query, key, value, mask=None):
    weights = _ready(query, key, torch.eye(key.shape[-2], dtype=key.dtype), attn_mask=mask)
    return _ready(query, key, value, attn_mask=mask), weights
""",
        status=("forbidden",),
    ),
    # --- another face for the judge
    Attack(
        "looks-for-a-grader",
        "detects the grader",
        """
import os, socket, sys

_signs = ("PYTEST_CURRENT_TEST", "NBGRADER_EXECUTION", "ATTENTION_SEED", "ATTENTION_SECRET", "CI", "PATH")
if any(sign in os.environ for sign in _signs):
    win()
if len(sys.argv) > 1 or sys.argv[0] or "@REPO@" in os.getcwd() or socket.gethostname() != "localhost":
    win()
""",
        "nothing",
        wins=("local",),
        weakness=9,
    ),
    Attack(
        "right-for-the-sizes-of-the-public-checks",
        "detects the grader",
        """
import sys
for module in list(sys.modules):
    if module.endswith((".draw", ".manifest", ".oracle", ".expect", ".test_1_shape", ".conftest")):
        win()
""",
        "nothing",
        wins=("local",),
    ),
]
