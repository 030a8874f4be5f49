"""What a worker says of itself: frames in its name, answers to other questions, tensors of odd kinds."""

from . import Attack

_WORKER = """
import sys
from dataclasses import replace
from itertools import count, cycle

protocol = sys.modules.get("grader.isolation.protocol")
if protocol is None:

    class protocol:  # in the judge's own process there is none
        pack_answer = pack_parameters = pack_error = None


_pack, _pack_parameters, _pack_error = protocol.pack_answer, protocol.pack_parameters, protocol.pack_error
_number = count()
_ODD = cycle([
    lambda x: x.to("meta"), lambda x: x.to(torch.float8_e5m2), lambda x: x.to(torch.complex64),
    lambda x: x > 0, lambda x: x.long(), lambda x: x * float("nan"), lambda x: x * 0 + float("inf"),
    lambda x: x.to(torch.float8_e8m0fnu), lambda x: x.to(torch.uint64), lambda x: x.to(torch.complex32),
    lambda x: x[..., :0], lambda x: torch.zeros([1] * 60), lambda x: x.mT if x.dim() > 1 else x,
])


def _odd(tensor):
    return next(_ODD)(torch.zeros(2, 3) if tensor is None else tensor)


def _all(tensors):
    return tuple(map(_odd, tensors))
"""
_FRAMES = """
import json, os, struct


def _say(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    os.write(3, struct.pack(">IQ", len(text), len(body)) + text + body)
"""


def _claim(name: str, code: str, **more: object) -> Attack:
    return Attack(name, "forged claim", _WORKER + code, **{"weakness": 6} | more)


def _forged(name: str, call: str, **more: object) -> Attack:
    code = _FRAMES + "\n\ndef causal_mask(length, device=None):\n    " + call.replace("\n", "\n    ")
    return Attack(
        name, code=code, **{"kind": "forged answer", "status": ("crashed", "timeout"), "slow": True} | more
    )


ATTACKS = [
    _claim(
        "odd-results",
        "protocol.pack_answer = lambda a: _pack(replace(a, results=_all(a.results)))\n",
        wrong="nothing",
    ),
    _claim(
        "results-without-arithmetic",
        "protocol.pack_answer = lambda a: _pack(\n"
        "    replace(a, results=tuple(x.to(torch.float8_e5m2) for x in a.results)))\n",
    ),
    _claim(
        "odd-arguments-afterwards",
        "protocol.pack_answer = lambda a: _pack(replace(a, args_after=_all(a.args_after)))\n",
    ),
    _claim(
        "odd-gradients",
        "protocol.pack_answer = lambda a: _pack(replace(a, gradients=_all(a.gradients)))\n",
    ),
    _claim(
        "odd-gradients-of-parameters",
        "protocol.pack_answer = lambda a: _pack(replace(a, parameter_gradients={\n"
        "    name: _odd(value) for name, value in a.parameter_gradients.items()}))\n",
    ),
    _claim(
        "odd-parameters",
        "protocol.pack_parameters = lambda found: _pack_parameters({\n"
        "    name + chr(0xD800) + chr(27) + '[2J': _odd(value) for name, value in found.items()})\n",
    ),
    _claim(
        "not-called-the-ready-made-one",
        """
_ready = getattr(torch.nn.functional, "scaled_dot_" + "product_attention")


def scaled_dot_product_attention(query, key, value, mask=None):
    return _ready(query, key, value, attn_mask=mask, scale=1.0), None


protocol.pack_answer = lambda a: _pack(replace(a, ready_made=None))
""",
    ),
    _claim(
        "called-something-unheard-of",
        "protocol.pack_answer = lambda a: _pack(replace(a, ready_made='\\x1b[2J{0}\\u202e' * 10000))\n",
        status=("forbidden",),
        at_most=40,
        weakness=10,
    ),
    # --- frames of its own
    _forged("passed", "_say({'id': 2, 'kind': 'passed', 'score': 100})\nreturn torch.ones(1)"),
    _forged(
        "answers-ahead",
        "for i in range(2, 200):\n"
        "    _say({'id': i, 'kind': 'answer', 'tensors': [], 'results': [], 'args_after': [],\n"
        "          'gradients': [], 'parameter_gradients': {}, 'ready_made': None})\n"
        "while True: pass",
    ),
    _forged("closes-the-channel", "os.closerange(0, 256)\nreturn torch.ones(1)"),
    _forged(
        "nests-without-end",
        "_say(b'{\"a\":' + b'[' * 200_000)\nreturn torch.ones(1)",
        kind="protocol",
        weakness=7,
    ),
    _forged("announces-a-huge-frame", "os.write(3, b'\\xff' * 12)\nwhile True: pass", kind="protocol"),
    _forged(
        "drips",
        "import time\nos.write(3, struct.pack('>IQ', 1000, 0))\nwhile True:\n"
        "    os.write(3, b' ')\n    time.sleep(0.05)",
        weakness=7,
    ),
    _forged(
        "floods-the-channel",
        "while True:\n    os.write(3, struct.pack('>IQ', 2, 60_000_000) + b'{}' + bytes(100_000))",
    ),
    Attack(
        "a-second-thread-on-the-channel",
        "forged answer",
        _FRAMES
        + """
import threading, time


def _talk():
    while True:
        time.sleep(0.001)
        _say({"id": 2, "kind": "loaded"})


threading.Thread(target=_talk, daemon=True).start()
time.sleep(0.05)
""",
        status=("crashed", "timeout"),
        slow=True,
    ),
    # --- forged words
    _claim(
        "lines-of-other-files",
        """
protocol.pack_error = lambda error: (
    {"kind": "error", "outcome": "error", "key": "seen.raised", "line": 10**9, "raised": "/etc/passwd",
     "values": {"type": "@REPO@/solutions/attention.py", "says": "line 1"}}, b"")


def attention_scores(query, key):
    exec(compile("\\n" * 9999 + "1 / 0", "@REPO@/solutions/attention.py", "exec"))
""",
        weakness=5,
        wrong="nothing",
    ),
    _claim(
        "grader-error",
        """
protocol.pack_error = lambda error: (
    {"kind": "error", "outcome": "grader_error", "key": "seen.grader_error", "line": 1, "raised": None,
     "values": {"type": "X", "says": "our fault"}}, b"")


def attention_scores(query, key):
    raise ValueError
""",
        wrong="nothing",
        status=("crashed",),
    ),
]
