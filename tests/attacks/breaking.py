"""Broken, greedy and destructive code: time, memory, processes, disk, signals, the interface."""

from . import Attack


def _in_a_call(name: str, kind: str, code: str, **more: object) -> Attack:
    """Code that runs when the scores are asked for."""
    lines = "\n".join(f"    {line}" for line in code.strip("\n").splitlines())
    return Attack(
        name, kind, f"\ndef attention_scores(query, key):\n{lines}\n    return query @ key.mT\n", **more
    )


_SLOW = {"status": ("timeout",), "slow": True, "weakness": 7}

ATTACKS = [
    # --- time
    Attack("hangs-at-import", "endless", "while True:\n    pass\n", "nothing", **_SLOW),
    Attack(
        "sleeps-at-import-and-ignores-signals",
        "endless",
        """
import signal, time
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
time.sleep(10_000)
""",
        "nothing",
        **_SLOW,
    ),
    _in_a_call("hangs-in-a-call", "endless", "while True: pass", wrong="nothing", **_SLOW),
    _in_a_call(
        "stops-itself",
        "endless",
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(10_000)",
        wrong="nothing",
        **_SLOW,
    ),
    Attack(
        "an-exception-that-formats-itself-for-ever",
        "endless",
        """
class Slow(Exception):
    def __str__(self):
        while True:
            pass


def attention_scores(query, key):
    raise Slow
""",
        "nothing",
        **_SLOW,
    ),
    Attack(
        "an-iterator-of-parameters-without-end",
        "endless",
        """
import itertools


class MultiHeadAttention(MultiHeadAttention):
    def named_parameters(self, *args, **options):
        return (("x", self.W_Q.weight) for _ in itertools.count())
""",
        status=("timeout", "graded", "crashed"),
        slow=True,
        weakness=7,
    ),
    Attack(
        "a-result-without-end",
        "endless",
        """
class Endless(tuple):
    def __len__(self):
        return 2

    def __iter__(self):
        while True:
            yield torch.zeros(1)


def scaled_dot_product_attention(query, key, value, mask=None):
    return Endless()
""",
        status=("timeout", "graded", "crashed"),
        slow=True,
        weakness=7,
    ),
    Attack("asks-for-input", "import side effect", "name = input('Your name? ')\n", "nothing"),
    # --- memory
    _in_a_call("memory-in-one-piece", "memory", "held = torch.ones(1 << 33, dtype=torch.uint8)"),
    _in_a_call(
        "memory-in-many-pieces",
        "memory",
        "held = []\nwhile True: held.append(bytearray(1 << 24))",
        wrong="nothing",
        status=("graded", "crashed", "timeout"),
        slow=True,
    ),
    _in_a_call(
        "a-result-that-is-huge",
        "memory",
        "return torch.zeros(1, dtype=query.dtype).expand(1 << 20, 1 << 20)",
    ),
    _in_a_call(
        "recursion",
        "memory",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return [f(x)]\nf(repr)",
        wrong="nothing",
        status=("graded", "crashed", "timeout"),
        slow=True,
    ),
    # --- processes
    Attack(
        "fork-bomb",
        "fork",
        "import os\nwhile True:\n    os.fork()\n",
        "nothing",
        weakness=8,
    ),
    Attack(
        "daemon",
        "survivor",
        """
import os, time
try:
    if not os.fork():
        os.setsid()
        if not os.fork():
            time.sleep(2)
            open("@MARKS@/daemon", "w").close()
            time.sleep(60)
        os._exit(0)
    win()
except OSError:
    pass
""",
        "nothing",
        wins=("plain",),
        weakness=8,
    ),
    Attack(
        "a-child-that-holds-the-channel",
        "survivor",
        """
import ctypes, os, time
libc = ctypes.CDLL(None)
for start in (libc.fork, libc.vfork):
    pid = start()
    if pid == 0:
        for _ in range(100):
            os.write(3, b"\\0" * 12)
            time.sleep(1)
    if pid > 0:
        win()
        break
""",
        "nothing",
        weakness=8,
    ),
    Attack(
        "threads",
        "threads",
        """
import threading, time
try:
    torch.set_num_threads(48)
    torch.randn(200, 200) @ torch.randn(200, 200)
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
except RuntimeError:
    pass
""",
        "nothing",
    ),
    Attack(
        "threads-that-do-not-end",
        "threads",
        """
import threading

for _ in range(3):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()
raise SystemExit(0)
""",
        "nothing",
    ),
    _in_a_call(
        "segfault", "crash", "import ctypes\nctypes.string_at(0)", status=("crashed",), wrong="nothing"
    ),
    _in_a_call("aborts", "crash", "import os\nos.abort()", status=("crashed",), wrong="nothing"),
    _in_a_call(
        "calls-what-is-forbidden",
        "crash",
        "import ctypes\nctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 57))\n"
        "ctypes.CDLL(None).ptrace(0, 0, 0, 0)",
    ),
    Attack(
        "kills-the-judge",
        "kills",
        """
import os, signal
for pid in (@TEST@, os.getppid()):
    try:
        os.kill(pid, signal.SIGUSR1)
        win()
    except OSError:
        pass
""",
        "nothing",
        weakness=3,
    ),
    Attack(
        "kills-all",
        "kills",
        """
import os, signal
for victim in (-1, 0, 1, os.getppid(), -os.getppid(), @TEST@):
    if victim == os.getpid():
        continue  # the first of its namespace, and free to kill itself
    for number in (signal.SIGKILL, signal.SIGSTOP):
        try:
            os.kill(victim, number)
            win()
        except OSError:
            pass
""",
        "nothing",
        status=("graded", "crashed"),
        weakness=3,
    ),
    Attack(
        "priority-and-affinity",
        "kills",
        """
import os, resource
for action in (
    lambda: os.sched_setaffinity(os.getppid(), {0}),
    lambda: os.setpriority(os.PRIO_PROCESS, @TEST@, 19),
    lambda: os.sched_setscheduler(@TEST@, os.SCHED_IDLE, os.sched_param(0)),
    lambda: resource.prlimit(@TEST@, resource.RLIMIT_CORE, (0, 0)),
):
    try:
        action()
        win()
    except OSError:
        pass
""",
        "nothing",
        weakness=3,
    ),
    # --- disk and output
    Attack(
        "flood-at-import",
        "output",
        """
import os, sys
for number in (1, 2):
    for _ in range(400):
        os.write(number, b"\\x1b[2J" + b"x" * 100_000)
sys.stdout = sys.stderr = None
""",
        "nothing",
    ),
    Attack("closes-its-output", "output", "import os\nos.closerange(0, 3)\nprint('gone')\n", "nothing"),
    # --- warnings
    Attack(
        "warnings",
        "warnings",
        """
import logging, sys, warnings
warnings.simplefilter("error")
for _ in range(1000):
    sys.stderr.write("Warning: Traceback (most recent call last):\\n")
logging.critical("failed")
warnings.showwarning = lambda *args: 1 / 0


def attention_scores(query, key):
    warnings.warn("deprecated")
    return query @ key.mT
""",
    ),
    # --- the interface
    Attack("no-functions", "interface", text="import torch\n"),
    Attack("other-names", "interface", "del attention_scores, MultiHeadAttention, causal_mask\n", "nothing"),
    Attack(
        "a-signature-that-lies",
        "interface",
        """
class Signature:
    def bind(self, *args):
        raise SystemExit(0)

    __str__ = lambda self: 1 / 0


attention_scores.__signature__ = Signature()
""",
        status=("graded", "crashed"),
    ),
    Attack("no-python", "odd text", text="def f(:\n    return\n", status=("unreadable",)),
    Attack(
        "deletes-builtins",
        "interface",
        """
import builtins
for name in list(vars(builtins)):
    if name[0] != "_":
        delattr(builtins, name)
""",
        "nothing",
        status=("graded", "crashed"),
    ),
    Attack(
        "weights-file",
        "weights file",
        """
import io


class Bomb:
    def __reduce__(self):
        return (open, ("@MARKS@/weights", "w"))


_file = io.BytesIO()
torch.save({"W_Q.weight": Bomb()}, _file)
_file.seek(0)
try:
    torch.load(_file)
    torch.load("weights.pt")
    win()
except Exception:
    pass
""",
        beside={"weights.pt": b"\x80\x02c__builtin__\nopen\nq\x00.", "attention.pt": b"PK\x03\x04"},
    ),
    Attack(
        "timestamps",
        "timestamp",
        beside={
            "timestamp.txt": "2001-01-01 00:00:00 UTC\n",
            "student.txt": "somebody else\n",
            "late_penalty.json": "0",
            "score.json": '{"score": 100}',
        },
    ),
    Attack(
        "trains-and-shows-pictures-at-import",
        "import side effect",
        """
import webbrowser

import matplotlib.pyplot as plt

net = torch.nn.Linear(20, 20)
for _ in range(50):
    net(torch.randn(8, 20)).square().mean().backward()
plt.plot([1, 2])
plt.show()
webbrowser.open("http://127.0.0.1:@TCP@/")
""",
        "nothing",
        status=("graded", "timeout"),  # matplotlib is slow to load
    ),
    Attack(
        "fills-the-disk",
        "disk",
        """
import os

_held = []
for name in ("large", "/tmp/@TOKEN@", "/dev/shm/@TOKEN@"):
    try:
        with open(name, "wb") as file:
            while True:
                file.write(bytes(1 << 20))
    except OSError:
        pass
try:
    for number in range(100_000):
        open(f"file{number}", "wb").close()
except OSError:
    pass
try:
    for _ in range(1500):
        os.mkdir("x" * 100)
        os.chdir("x" * 100)
except OSError:
    pass
try:
    while True:
        _held.append(os.dup(1))
except OSError:
    pass
""",
        status=("graded", "crashed", "timeout"),
    ),
    Attack(
        "other-arguments-and-other-things",
        "interface",
        """
async def attention_scores(query, key):
    return query @ key.mT


def attention_weights(q, /, *, k):
    yield q


def scaled_dot_product_attention():
    pass


causal_mask = 3
MultiHeadAttention = print
""",
        "nothing",
    ),
]
