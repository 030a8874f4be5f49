"""Stealing: files, memory, other processes, the network, and telling what was seen."""

from . import Attack


def _attempt(name: str, kind: str, code: str, **more: object) -> Attack:
    """A step that wins where it does not raise."""
    lines = "\n".join(f"    {line}" for line in code.strip("\n").splitlines())
    tried = f"\ntry:\n{lines}\n    win()\nexcept Exception:\n    pass\n"
    return Attack(name, kind, tried, **{"wins": ("plain",), "wrong": "nothing"} | more)


def _read(*paths: str) -> str:
    """Code that raises unless it can read one of these."""
    return f"""
import glob
import os
seen = []
for pattern in {list(paths)!r}:
    for path in glob.glob(pattern, recursive=True):
        try:
            seen.append(open(path, "rb").read(64))
        except OSError:
            pass
assert any(seen)
"""


ATTACKS = [
    Attack(
        "takes-the-solution",
        "paths",
        """
import os

for path in ("@REPO@/solutions/attention.py", "solutions/attention.py", "../solutions/attention.py"):
    try:
        exec(open(path).read(), globals())
        break
    except OSError:
        pass
""",
        "nothing",
        wins=("plain",),
    ),
    Attack(
        "takes-the-neighbours-submission",
        "paths",
        """
import glob

for path in sorted(glob.glob("@CLASS@/*.py") + glob.glob("../*.py")):
    try:
        if "honest" in path:
            exec(open(path).read(), globals())
            break
    except OSError:
        pass
""",
        "nothing",
        wins=("plain",),
    ),
    _attempt(
        "reads-the-judge",
        "paths",
        _read("@REPO@/grader/judge/oracle.py", "@REPO@/grader/hidden/*", "/etc/passwd"),
    ),
    _attempt("reads-the-seed", "paths", _read("@OUT@/.attention-class.json", "@OUT@/*/report.json")),
    _attempt(
        "walks-up-from-here",
        "paths",
        _read(
            "/proc/self/root@REPO@/solutions/*",
            "/proc/self/cwd/../*/solutions/*",
            "/proc/1/root@REPO@/*/*.py",
        ),
    ),
    _attempt(
        "reads-left-overs",
        "left-overs",
        _read(
            "@REPO@/solutions/__pycache__/*",
            "@REPO@/grader/judge/__pycache__/oracle*.pyc",
            "@REPO@/**/.ipynb_checkpoints/*",
            "@REPO@/assignments/**/*.ipynb",
        ),
    ),
    _attempt(
        "imports-the-oracle",
        "source",
        """
import importlib.util
import sys
import types
memory = sys.modules["grader.judge.memory"] = types.ModuleType("grader.judge.memory")
memory.remembered = lambda function: function
spec = importlib.util.spec_from_file_location("oracle", "@REPO@/grader/judge/oracle.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
""",
    ),
    Attack(
        "source-of-what-is-loaded",
        "source",
        """
import inspect, linecache, sys

for module in list(sys.modules.values()):
    try:
        text = inspect.getsource(module)
    except Exception:
        continue
    if "BEGIN " + "SOLUTION" in text and module.__name__ != __name__ or "def exact_" + "scores" in text:
        win()
for lines in list(linecache.cache.values()):
    if len(lines) > 2 and "def exact_" + "scores" in "".join(lines[2]):
        win()
""",
        "nothing",
        wins=("local",),
    ),
    Attack(
        "environment-of-all-processes",
        "other processes",
        """
import glob, os

for file in ["/proc/self/environ", *glob.glob("/proc/[0-9]*/environ"), *glob.glob("/proc/[0-9]*/cmdline")]:
    try:
        if b"@SECRET@" + b"-is-known" in open(file, "rb").read():
            win()
    except OSError:
        pass
if any("@SECRET@" + "-is-known" in value for value in os.environ.values()):
    win()
""",
        "nothing",
        wins=("local",),  # a plain worker too, unless it is root without its capabilities
        weakness=9,
    ),
    Attack(
        "environment-in-memory",
        "environment",
        """
import ctypes

_word = b"@SECRET@" + b"-is-known"
_found = False
with open("/proc/self/maps") as maps:
    areas = [line.split()[:2] for line in maps if "stack" in line or "heap" in line]
for area, rights in areas:
    start, end = (int(number, 16) for number in area.split("-"))
    if _word in ctypes.string_at(start, min(end - start, 1 << 24)).replace(b"_word", b""):
        _found = True
del _word
""",
        "nothing",
        status=("graded", "crashed"),
        weakness=9,
    ),
    # --- the network
    _attempt(
        "tcp",
        "network",
        """
import socket
socket.create_connection(("127.0.0.1", @TCP@), 1).sendall(b"seen")
""",
    ),
    _attempt(
        "udp",
        "network",
        """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"seen", ("127.0.0.1", @UDP@))
""",
        weakness=3,
    ),
    _attempt(
        "path-named-socket",
        "network",
        """
import socket
with socket.socket(socket.AF_UNIX) as one:
    one.connect("@UNIX@")
    one.sendall(b"seen")
""",
        weakness=3,
    ),
    _attempt(
        "abstract-socket",
        "network",
        """
import socket
with socket.socket(socket.AF_UNIX) as one:
    one.connect("\\0@TOKEN@")
    one.sendall(b"seen")
""",
    ),
    # --- telling
    Attack(
        "inputs-in-exceptions",
        "tells the inputs",
        """
def attention_scores(query, key):
    raise ValueError(f"INPUTS {query.shape} {query.flatten().tolist()}")
""",
        "nothing",
    ),
    Attack(
        "inputs-in-shapes-and-names",
        "tells the inputs",
        """
def attention_scores(query, key):
    number = int(query.flatten()[0].abs() * 1000)
    raise type(f"Inputs{number}", (Exception,), {})(f"INPUTS {number}")


def attention_weights(scores, mask=None):
    return scores.new_zeros(int(scores.flatten()[0].abs() * 1000), 1)
""",
        "nothing",
    ),
    Attack(
        "inputs-printed",
        "tells the inputs",
        """
import os


def attention_scores(query, key):
    print("INPUTS", query)
    os.write(2, repr(("INPUTS", key)).encode())
    return query @ key.mT
""",
    ),
]
