"""Untrusted code behind a worker: the same answers as in this process, and nothing else that it can reach.

Every probe of `REACH` is run twice: where it must fail, and with all layers left out, where it must succeed.
A probe that finds nothing to reach there would prove nothing here.
"""

import ast
import contextlib
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from conftest import REFERENCE, body

from grader.isolation import lockdown, protocol, removal, seccomp, tensors, wire
from grader.isolation.launcher import IsolationError, Launcher
from grader.isolation.limits import Limits
from grader.isolation.output import KEPT
from grader.isolation.submission import WorkerSubmission
from grader.judge import local
from grader.judge.call import Answer, Call, Module, StudentError
from grader.judge.exercise import PROJECTIONS
from grader.judge.local import LocalSubmission
from grader.judge.source import Source
from grader.stub import ROOT

MASK = Call("causal_mask", (4,))
SECRET = "a secret that the judge has had since before the launcher"
LIMITS = Limits(load_s=6, call_s=2, total_s=60)
LINUX = sys.platform == "linux"
UNLOCKED = ("namespaces", "private root", "other user", "Landlock", "seccomp")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    os.environ["ATTENTION_SECRET"] = SECRET
    with Launcher(limits=LIMITS) as launcher:
        yield launcher
        launcher.check()
    del os.environ["ATTENTION_SECRET"]


@pytest.fixture(
    scope="module", params=["", "namespaces", "Landlock"], ids=["all", "no namespaces", "no Landlock"]
)
def sandbox(request: pytest.FixtureRequest, launcher: Launcher) -> Iterator[Launcher]:
    """What must hold with every layer, and also on a machine without namespaces, or without Landlock."""
    if not LINUX:
        pytest.skip("the layers are Linux's")
    if request.param == "all":
        yield launcher
        return
    with Launcher(limits=LIMITS, without=[request.param.removeprefix("no ")]) as less:
        yield less
        less.check()


@pytest.fixture(scope="module")
def unlocked() -> Iterator[Launcher]:
    """A plain process."""
    with Launcher(limits=LIMITS, without=[*UNLOCKED, "limits"]) as launcher:
        yield launcher


def submission(launcher: Launcher, *appended: str) -> WorkerSubmission:
    """The reference behind a worker, with code appended."""
    text = "\n\n".join([REFERENCE, *appended])
    return WorkerSubmission(launcher, Source("/somewhere/mine.py", text, ""))


def failure(submission: WorkerSubmission | LocalSubmission, call: Call = MASK) -> StudentError:
    """The error that a call must end in."""
    with pytest.raises(StudentError) as caught:
        submission.answer(call)
    return caught.value


def told(launcher: Launcher, code: str) -> str:
    """What `code` leaves in the variable `told`, when a call of the submission runs it."""
    with submission(
        launcher, body("causal_mask", f"{textwrap.dedent(code)}\nraise LookupError(told)")
    ) as mine:
        error = failure(mine)
    assert error.raised == "LookupError", error
    return error.seen.values["says"]


def is_right(launcher: Launcher) -> bool:
    """Whether an honest submission is answered well."""
    with submission(launcher) as mine:
        return torch.equal(mine.answer(MASK).results[0], torch.ones(4, 4).tril().bool())


# --- the same answers ---------------------------------------------------------------------------------------


def every_call() -> Iterator[Call]:
    """Each function of the exercise, in both precisions, with odd layouts and with gradients."""
    normal = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=normal, dtype=torch.float64)

    yield MASK
    yield Call("causal_mask", (3, torch.device("meta")))
    yield Call("causal_mask", (0, None))
    allowed = torch.ones(5, 7, dtype=torch.bool).tril(2)
    for dtype in (torch.float64, torch.float32):
        query, key, value = (draw(*shape).to(dtype) for shape in ((2, 3, 5, 10), (2, 3, 7, 10), (2, 3, 7, 6)))
        turned = draw(2, 5, 3, 10).to(dtype).transpose(1, 2)
        spread = draw(1, 1, 7, 10).to(dtype).expand(2, 3, 7, 10)
        weights = {name: draw(15, 15).to(dtype) for name in PROJECTIONS}
        module = Module(7, 15, 3, weights)
        tokens, heads = draw(2, 4, 15).to(dtype), draw(2, 3, 4, 5).to(dtype)
        yield Call("attention_scores", (query, key))
        yield Call("attention_scores", (turned, spread), upstream=draw(2, 3, 5, 7).to(dtype))
        yield Call("attention_weights", (draw(2, 3, 5, 7).to(dtype)[..., ::2], None))
        yield Call(
            "attention_weights", (draw(2, 3, 5, 7).to(dtype), allowed), None, draw(2, 3, 5, 7).to(dtype)
        )
        yield Call(
            "scaled_dot_product_attention", (query, key, value, allowed), None, draw(2, 3, 5, 6).to(dtype)
        )
        yield Call("scaled_dot_product_attention", (query[:0], key[:0], value[:0], None))
        yield Call("split_heads", (tokens,), module)
        yield Call("combine_heads", (heads,), module, draw(2, 4, 15).to(dtype))
        yield Call("forward", (tokens, torch.ones(2, 1, 4, 4, dtype=torch.bool).tril()), module, tokens)
        yield Call("forward", (tokens, None), Module(8, 15, 3, weights, reloaded=True))
        yield Call("forward", (tokens, None), Module(9, 15, 4))  # the constructor raises
        yield Call("attention_scores", (key, value))  # shapes that do not fit


def outcome(submission: WorkerSubmission | LocalSubmission, call: Call) -> Answer | tuple:
    try:
        return submission.answer(call)
    except StudentError as error:
        return error.outcome, error.seen.say("en"), error.seen.say("zh"), error.line, error.raised


def same(one: object, other: object) -> bool:
    """Equal to the last bit, in what they are too."""
    if isinstance(one, torch.Tensor):
        kinds = (one.dtype, one.shape, one.device, one.stride())
        if kinds != (other.dtype, other.shape, other.device, other.stride()):
            return False
        return one.device.type == "meta" or torch.equal(one, other)
    if isinstance(one, Answer):
        return same(vars(one), vars(other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


ODD = """
class Wrapped(torch.Tensor):
    pass


def _odd(x):
    return {0}


attention_scores = lambda query, key: _odd(query)
"""
ODD_RESULTS = [
    "None",
    "x.to(torch.bfloat16)",
    "x.to(torch.complex128)",
    "x.to(torch.float8_e5m2)",
    "x.to_sparse()",
    "x.to('meta')",
    "x > 0",
    "(x, x)",
    "Wrapped()",
    "x.new_zeros(2000, 2000)",
    "torch.zeros(1, dtype=x.dtype).expand(3000, 3000)",
    "torch.full_like(x, float('nan'))",
    "torch.zeros(2, 3, 5, 7)",
    "x.sum()",
    "undefined",
    "1 / 0",
    "exec('raise ' + repr('not an exception'))",
    "(_ for _ in ()).throw(SystemExit(0))",
    "(_ for _ in ()).throw(NotImplementedError('TODO 2 (scaling): \\x1b[31m'))",
    "(_ for _ in ()).throw(ValueError('\\ud800 {braces} ' + 'x' * 100_000))",
]


def test_answers_are_those_of_this_process(launcher):
    source = Source("mine.py", REFERENCE, "")
    here, there = LocalSubmission(source), submission(launcher)
    with there:
        for call in every_call():
            assert same(outcome(here, call), outcome(there, call)), call.function
        module = Module(20, 15, 3)
        assert here.parameters(module).keys() == there.parameters(module).keys()
        assert there.isolation == launcher.isolation


@pytest.mark.parametrize("result", ODD_RESULTS)
def test_odd_results_are_those_of_this_process(launcher, result):
    x = torch.ones(2, 3, 5, 10, dtype=torch.float64)
    call = Call("attention_scores", (x, x[:, :, :4]), upstream=torch.ones(2, 3, 5, 4, dtype=torch.float64))
    text = REFERENCE + ODD.format(result)
    here, there = (
        LocalSubmission(Source("mine.py", text, "")),
        WorkerSubmission(launcher, Source("mine.py", text, "")),
    )
    with there:
        for asked in (call, Call(call.function, call.args)):
            mine, theirs = outcome(here, asked), outcome(there, asked)
            assert same(mine, theirs) or "nan" in result, (mine, theirs)


def test_a_layout_arrives_as_it_was(launcher):
    x = torch.randn(2, 5, 3, 10)
    code = "return torch.tensor([*query.stride(), query.storage_offset(), *key.stride()])"
    with submission(launcher, body("attention_scores", code)) as mine:
        turned, spread = x.transpose(1, 2)[..., 1:], x[:1, :1].expand(2, 3, 3, 10)
        seen = mine.answer(Call("attention_scores", (turned, spread))).results[0]
    assert seen.tolist() == [*turned.stride(), 1, *spread.stride()]


def test_every_message_of_a_submission_may_travel():
    """The closed table of errors has what LocalSubmission says, and no more."""
    said = {
        node.args[0].value: {keyword.arg for keyword in node.keywords}
        for node in ast.walk(ast.parse(Path(local.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "text" and node.args
        if isinstance(node.args[0], ast.Constant)
    }
    said |= {"seen.raised": {"type", "says"}, "seen.import_raised": {"type", "says"}}
    assert said == {key: values for (_, key), values in protocol.ERRORS.items()}


# --- time ---------------------------------------------------------------------------------------------------

RAISES_SLOWLY = """
class Slow(Exception):
    def __str__(self):
        while True:
            pass


def causal_mask(length, device=None):
    raise Slow
"""
ENDLESS = """
class Endless(torch.nn.Module):
    W_Q = W_K = W_V = W_O = None

    def __init__(self, *sizes):
        super().__init__()

    def named_parameters(self):
        while True:
            yield "W_Q.weight", torch.zeros(1)


MultiHeadAttention = Endless
"""
DRIPS = """
import os, struct, time
os.write(3, struct.pack(">IQ", 1000, 0))
while True:
    os.write(3, b" ")
    time.sleep(0.1)
"""


@pytest.mark.parametrize(
    "code",
    [
        body("causal_mask", "while True: pass"),
        body("causal_mask", "import time; time.sleep(1000)"),
        body(
            "causal_mask",
            "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); import time; time.sleep(99)",
        ),
        RAISES_SLOWLY,
        body("causal_mask", DRIPS),
    ],
    ids=["loop", "sleep", "stop", "exception that formats itself for ever", "slow drip"],
)
def test_a_call_ends_at_its_deadline(launcher, code):
    with submission(launcher, code) as mine:
        started = time.monotonic()
        error = failure(mine)
        assert error.outcome == "timeout"
        assert "causal_mask" in error.seen.say("en")
        assert time.monotonic() - started < LIMITS.load_s + LIMITS.call_s
        # the next call has a worker of its own
        assert mine.answer(Call("attention_weights", (torch.zeros(2, 2), None))).results[0].shape == (2, 2)
    assert is_right(launcher)


def test_an_iterator_without_end_ends_at_the_deadline(launcher):
    with submission(launcher, ENDLESS) as mine, pytest.raises(StudentError) as caught:
        mine.parameters(Module(1, 15, 3))
    assert caught.value.outcome in ("timeout", "error")  # or out of memory before


def no_more_workers(patch: pytest.MonkeyPatch, launcher: Launcher) -> None:
    """From now on, starting another is an error."""
    patch.setattr(launcher, "fork", lambda output: pytest.fail("another worker was started"))


def test_an_import_that_hangs_is_paid_for_once(launcher, monkeypatch):
    with submission(launcher, "while True: pass") as mine:
        assert failure(mine).seen.key == "seen.import_timeout"
        no_more_workers(monkeypatch, launcher)
        for _ in range(20):
            assert failure(mine).outcome == "timeout"


def test_an_import_that_ends_the_process_is_tried_once(launcher, monkeypatch):
    with submission(launcher, "import os; os._exit(0)") as mine:
        assert failure(mine).seen.say("en") == "Loading your file ended the whole process (exit 0)."
        no_more_workers(monkeypatch, launcher)
        assert failure(mine).outcome == "crashed"


def test_a_submission_has_a_budget(launcher, monkeypatch):
    with submission(launcher, body("causal_mask", "import time; time.sleep(0.5)")) as mine:
        mine._limits = Limits(load_s=6, call_s=2, total_s=1)
        for _ in range(3):
            failure(mine)
        no_more_workers(monkeypatch, launcher)
        requests = mine._requests
        assert failure(mine).seen.key == "seen.no_time_left"
        assert mine._requests == requests


# --- crashes and floods -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os; os._exit(3)", "exit 3"),
        ("import os; os._exit(0)", "exit 0"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("import os; os.abort()", "SIG"),
        ("import sys; sys.setrecursionlimit(10**9)\ndef f(x): return [x].sort(key=f)\nf(1)", "SIGSEGV"),
        ("import os; os.close(3)", ""),
    ],
    ids=["exit 3", "exit 0", "segmentation fault", "abort", "recursion", "closed channel"],
)
def test_a_crash_costs_its_own_call(launcher, code, how):
    with submission(launcher, body("causal_mask", code)) as mine:
        error = failure(mine)
        assert error.outcome == "crashed"
        assert how in error.seen.values["how"]
        assert mine.answer(Call("attention_weights", (torch.zeros(2, 2), None))).results[0].shape == (2, 2)
        assert failure(mine).outcome == "crashed"
    assert is_right(launcher)


def test_killing_itself_costs_its_own_call(launcher):
    """As number 1 of its processes it is not even heard."""
    code = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nreturn torch.zeros(length, length)"
    with submission(launcher, body("causal_mask", code)) as mine:
        with contextlib.suppress(StudentError):
            assert not mine.answer(MASK).results[0].any()
        assert mine.answer(Call("attention_weights", (torch.zeros(2, 2), None))).results[0].shape == (2, 2)


def test_a_module_is_rebuilt_in_a_new_worker(launcher):
    weights = {name: torch.randn(15, 15) for name in PROJECTIONS}
    call = Call("forward", (torch.randn(2, 4, 15), None), Module(3, 15, 3, weights))
    with submission(launcher, body("causal_mask", "import os; os._exit(1)")) as mine:
        before = mine.answer(call)
        failure(mine)
        assert same(mine.answer(call), before)


@pytest.mark.parametrize(
    "code",
    [
        "held = torch.ones(3 << 30, dtype=torch.uint8)",
        "held = bytearray(3 << 30)",
        "held = []\nwhile True: held.append(torch.ones(1 << 22))",
        "import mmap\nheld = [mmap.mmap(-1, 1 << 27).write(b'x' * (1 << 27)) and 0 for _ in range(40)]",
    ],
    ids=["tensor", "bytes", "many", "maps"],
)
def test_memory_has_an_end(launcher, code):
    with submission(launcher, body("causal_mask", f"{code}\nreturn held")) as mine:
        assert failure(mine).outcome in ("error", "crashed", "timeout")
    assert is_right(launcher)


def test_a_flood_of_output_neither_blocks_nor_stays(launcher):
    code = """
        import os
        for _ in range(300):
            print("x" * 100_000)
        os.write(2, b"the end \\x1b[31m")
        return torch.ones(1)
    """
    with submission(launcher, "print('the start')", body("causal_mask", textwrap.dedent(code))) as mine:
        assert mine.answer(MASK).results[0] == 1
        output = mine.output
    assert output.startswith("the start\n")
    assert output.endswith("the end \N{REPLACEMENT CHARACTER}[31m")
    assert "bytes left out" in output
    assert len(output) < 3 * KEPT


def test_output_outlives_a_crash(launcher):
    with submission(launcher, body("causal_mask", "print('here'); import os; os._exit(1)")) as mine:
        failure(mine)
        assert mine.output == "here\n"


def test_a_file_has_a_largest_size(launcher):
    code = """
        with open("large", "wb") as file:
            try:
                for _ in range(64):
                    file.write(b"x" * (1 << 20))
                    file.flush()
                told = "no end"
            except OSError as error:
                told = error.strerror
    """
    assert told(launcher, code) == "File too large"


@pytest.mark.skipif(not LINUX, reason="namespaces")
def test_many_files_have_a_largest_size(launcher):
    if "namespaces" not in launcher.layers:
        pytest.skip("the folder has no file system of its own here")
    code = """
        try:
            for i in range(64):
                with open(str(i), "wb") as file:
                    file.write(b"x" * (4 << 20))
            told = "no end"
        except OSError as error:
            told = error.strerror
    """
    assert told(launcher, code) == "No space left on device"


# --- what can be reached ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """Things of the judge's that a submission should not touch, by name."""
    folder = tmp_path_factory.mktemp("outside")
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.getuid() and path != Path("/"):
            with contextlib.suppress(OSError):
                path.chmod(path.stat().st_mode | 0o755)
    mine = folder / "mine"
    mine.write_text("mine")
    mine.chmod(0o666)
    with contextlib.ExitStack() as stack:
        tcp, udp, unix, abstract = (
            stack.enter_context(socket.socket(family, kind))
            for family, kind in (
                (socket.AF_INET, socket.SOCK_STREAM),
                (socket.AF_INET, socket.SOCK_DGRAM),
                (socket.AF_UNIX, socket.SOCK_STREAM),
                (socket.AF_UNIX, socket.SOCK_DGRAM),
            )
        )
        for one, address in (
            (tcp, ("127.0.0.1", 0)),
            (udp, ("127.0.0.1", 0)),
            (unix, str(folder / "socket")),
            (abstract, f"\0attention-{os.getpid()}"),
        ):
            one.bind(address)
        os.chmod(folder / "socket", 0o777)
        tcp.listen()
        unix.listen()
        yield {
            "ROOT": str(ROOT),
            "FOLDER": str(folder),
            "JUDGE": os.getpid(),
            "TCP": tcp.getsockname(),
            "UDP": udp.getsockname(),
            "ABSTRACT": f"\0attention-{os.getpid()}",
            "AFFINITY": sorted(os.sched_getaffinity(0)),
        }


REACH = {
    "the solution": "open(ROOT + '/solutions/attention.py').read()",
    "the grader's files": "os.listdir(ROOT + '/grader/judge')",
    "the oracle": "open(ROOT + '/grader/judge/oracle.py').read()",
    "users": "open('/etc/passwd').read()",
    "processes": "open(f'/proc/{JUDGE}/status').read()",
    "a file of the judge's": "open(FOLDER + '/mine').read()",
    "writing a file": "open(FOLDER + '/mine', 'a').close()",
    "making a file": "open(FOLDER + '/new', 'w').close()\nos.unlink(FOLDER + '/new')",
    "making a file in /tmp": (
        "assert not os.path.realpath('/tmp').startswith(os.environ['HOME'])  # there it may\n"
        "open('/tmp/attention-test', 'x').close()\nos.unlink('/tmp/attention-test')"
    ),
    "TCP": "socket.create_connection(TCP).close()",
    "UDP": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', UDP)",
    "a path-named socket": "socket.socket(socket.AF_UNIX).connect(FOLDER + '/socket')",
    "an abstract socket": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', ABSTRACT)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "a new process": "pid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)",
    "a program": "subprocess.run(['/bin/true'], check=True)",
    "signals": "os.kill(JUDGE, 0)",
    "affinity": "os.sched_setaffinity(JUDGE, AFFINITY)",
    "own affinity": "os.sched_setaffinity(0, AFFINITY)",
    "limits of another process": "resource.prlimit(JUDGE, resource.RLIMIT_NOFILE)",
    "priority": "os.setpriority(os.PRIO_PROCESS, 0, 19)",
    "mode": "os.chmod('mine', 0o600)",
    "times": "os.utime('mine')",
    "attributes": "os.setxattr('mine', 'user.x', b'x')",
    "locks": "fcntl.flock(open(torch.__file__), fcntl.LOCK_SH)",
    "record locks": "fcntl.lockf(open('mine', 'w'), fcntl.LOCK_EX)",
    "key rings": "call(NUMBER['add_key'], b'user', b'attention', b'x', ctypes.c_long(1), ctypes.c_long(-1))",
    "SysV memory": "key = call(NUMBER['shmget'], 0, 4096, 0o1600)\ncall(NUMBER['shmctl'], key, 0, 0)",
    "POSIX queues": (
        "call(NUMBER['mq_open'], b'attention', 0o102, 0o600, 0)\ncall(NUMBER['mq_unlink'], b'attention')"
    ),
    "anonymous files": "os.memfd_create('x')",
    "namespaces": "call(NUMBER['unshare'], 0x10000000)",
    "io_uring": "call(NUMBER['io_uring_setup'], 1, ctypes.create_string_buffer(256))",
}
X86 = {
    "add_key": 248,
    "shmget": 29,
    "shmctl": 31,
    "mq_open": 240,
    "mq_unlink": 241,
    "unshare": 272,
    "io_uring_setup": 425,
}
ARM = {
    "add_key": 217,
    "shmget": 194,
    "shmctl": 195,
    "mq_open": 180,
    "mq_unlink": 181,
    "unshare": 97,
    "io_uring_setup": 425,
}
BY_NUMBER = ("key rings", "SysV memory", "POSIX queues", "namespaces", "io_uring")
PROBE = """
import contextlib, ctypes, fcntl, os, resource, socket, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    result = libc.syscall(ctypes.c_long(number), *args)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
open("mine", "w").close()
try:
{code}
    told = "reached"
except Exception as error:
    told = f"{{type(error).__name__}}: {{error}}"
"""


def probe(launcher: Launcher, code: str, outside: dict[str, object]) -> str:
    known = outside | {"NUMBER": ARM if os.uname().machine == "aarch64" else X86}
    names = "\n".join(f"{name} = {value!r}" for name, value in known.items())
    return told(launcher, names + PROBE.format(code=textwrap.indent(code, " " * 4)))


@pytest.mark.parametrize("name", REACH)
def test_out_of_reach(sandbox, outside, name):
    if name.startswith(("TCP", "own", "priority")) and "seccomp" not in sandbox.layers:
        pytest.skip("needs seccomp")
    assert probe(sandbox, REACH[name], outside) != "reached"


@pytest.mark.parametrize("name", REACH)
def test_in_reach_without_the_layers(unlocked, outside, name):
    """The probes have teeth."""
    if name in BY_NUMBER and os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("numbers of system calls")
    if name == "affinity" and os.geteuid() == 0:
        pytest.skip("a worker has no capability, and may not set it for a process that has")
    assert probe(unlocked, REACH[name], outside) == "reached"


def test_only_listed_system_calls_are_made(sandbox):
    """Every other number of this kernel is refused, whatever it does."""
    if "seccomp" not in sandbox.layers:
        pytest.skip("needs seccomp")
    column = seccomp._ARCHITECTURES[os.uname().machine][0]
    allowed = {
        number
        for table in (seccomp._ALLOWED, seccomp._CONDITIONAL)
        for number in seccomp.numbers(table, column).values()
    }
    uprobes = {335, 336}  # of x86_64: the kernel passes them by every filter, and kills who calls them
    code = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        passed = []
        for number in set(range(600)) - {allowed} - {uprobes}:
            ctypes.set_errno(0)
            result = libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0)
            if result != -1 or ctypes.get_errno() not in (1, 38):
                passed.append(number)
        told = passed
    """
    assert told(sandbox, code) == "[]"


@pytest.mark.skipif(not Path("/usr/include/asm-generic/unistd.h").exists(), reason="no kernel headers here")
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_numbers_of_system_calls_are_the_kernels(machine):
    generic = Path("/usr/include/asm-generic/unistd.h")
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h") if machine == "x86_64" else generic
    if not header.exists():
        pytest.skip("no headers of this architecture here")
    known = {}
    for line in header.read_text().splitlines():
        words = line.split()
        if line.startswith("#define __NR") and len(words) == 3 and words[2].isdigit():
            known[words[1].removeprefix("__NR3264_").removeprefix("__NR_")] = int(words[2])
    known.setdefault("newfstatat", known.get("fstatat"))
    column = seccomp._ARCHITECTURES[machine][0]
    ours = seccomp.numbers(seccomp._ALLOWED, column) | seccomp.numbers(seccomp._CONDITIONAL, column)
    assert ours == {name: known[name] for name in ours}
    assert len(ours) > 100


def test_threads_may_be_started(sandbox):
    code = """
        import threading
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            told = sum(pool.map(len, ["a", "bc"]))
        torch.set_num_threads(2)
        torch.randn(300, 300) @ torch.randn(300, 300)
    """
    assert told(sandbox, code) == "3"


def test_what_submissions_use_works(sandbox):
    """Modules that load files late, pictures, compiled code, and files of its own."""
    top = "@torch.jit.script\ndef twice(x):\n    return x * 2\n\n\nthrice = torch.compile(lambda x: 3 * x)"
    code = """
        import decimal, fractions, json, sqlite3, ssl, tempfile, uuid
        import matplotlib.pyplot as plt
        import numpy as np
        with tempfile.TemporaryDirectory() as folder:
            plt.imshow(np.eye(3))
            plt.savefig(folder + "/mine.png")
        torch.save({"x": torch.ones(1)}, "weights.pt")
        raise LookupError((twice(thrice(torch.load("weights.pt")["x"]))).item())
    """
    with submission(sandbox, top, body("causal_mask", textwrap.dedent(code))) as mine:
        error = failure(mine)
    assert error.raised == "LookupError", error
    assert error.seen.values["says"] == "6.0"


# --- secrets ------------------------------------------------------------------------------------------------


def test_no_module_of_the_judges_is_in_a_worker(launcher):
    code = """
        import sys
        told = sorted(name for name in sys.modules if name.startswith("grader.") and "isolation" not in name)
    """
    assert told(launcher, code) == str(
        [
            f"grader.judge{name}"
            for name in ("", ".call", ".exercise", ".local", ".scratch", ".source", ".text")
        ]
    )


def test_modules_of_the_judges_cannot_be_imported(launcher):
    code = """
        import importlib, sys
        told = []
        for name in ("judge.oracle", "judge.mistakes", "hidden", "run"):
            name = f"grader.{name}"
            try:
                importlib.import_module(name)
                told.append(name)
            except ImportError:
                pass
        told += [path for path in sys.path if path.startswith(ROOT)]
    """
    assert told(launcher, f"ROOT = {str(ROOT)!r}\n{textwrap.dedent(code)}") == "[]"


def test_the_environment_is_empty(launcher):
    code = """
        import ctypes, os, sys
        pairs = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        told, i = [], 0
        while pairs[i]:
            told.append(pairs[i].split(b"=")[0].decode())
            i += 1
        told = sorted(told), sorted(os.environ), sys.argv, sys.orig_argv
    """
    names = ["HOME", "MPLBACKEND", "TMPDIR"]
    assert told(launcher, code) == str((names, names, [""], [""]))


@pytest.mark.skipif(not LINUX, reason="/proc")
def test_the_launcher_holds_no_secret(launcher):
    """Neither in its environment nor anywhere in its memory, which all workers inherit."""
    process = Path("/proc") / str(launcher._pid)
    assert process.joinpath("environ").read_bytes() == b""
    assert SECRET.encode() not in process.joinpath("cmdline").read_bytes()
    marks = (SECRET.encode(), b"### BEGIN SOLUTION", b"class Oracle", b"secret_sizes")
    read = 0
    with open(process / "mem", "rb") as memory:
        for line in process.joinpath("maps").read_text().splitlines():
            area, rights = line.split()[:2]
            if "w" in rights:
                start, end = (int(number, 16) for number in area.split("-"))
                memory.seek(start)
                held = memory.read(end - start)
                read += len(held)
                assert not [mark for mark in marks if mark in held], line
    assert read > 10_000_000


@pytest.mark.skipif(not LINUX, reason="/proc")
def test_the_memory_of_the_judge_is_out_of_reach(sandbox):
    code = f"""
        import ctypes
        told = []
        for name in ("environ", "mem", "maps", "fd", "cmdline", "root", "cwd"):
            try:
                path = "/proc/{os.getpid()}/" + name
                os.listdir(path) if name in ("fd", "root", "cwd") else open(path, "rb")
                told.append(name)
            except OSError:
                pass
        libc = ctypes.CDLL(None, use_errno=True)
        told += [libc.ptrace(16, {os.getpid()}, 0, 0)]
    """
    assert told(sandbox, f"import os\n{textwrap.dedent(code)}") == "[-1]"


def test_descriptors_are_closed(launcher):
    code = """
        import os
        told = []
        for number in range(256):
            try:
                os.fstat(number)
                told.append(number)
            except OSError:
                pass
    """
    assert told(launcher, code) == "[0, 1, 2, 3]"


# --- survivors ----------------------------------------------------------------------------------------------

DAEMON = """
import os, time
if not os.fork():
    os.setsid()
    if not os.fork():
        for number in range(256):
            try:
                os.close(number)
            except OSError:
                pass
        while True:
            time.sleep(0.05)
            with open({mark!r}, "a") as file:
                file.write("x")
    os._exit(0)
os.wait()
time.sleep(0.3)
"""


def test_a_daemon_cannot_be_started(sandbox, tmp_path):
    with submission(sandbox, body("causal_mask", DAEMON.format(mark=str(tmp_path / "mark")))) as mine:
        assert failure(mine).raised == "PermissionError"


def test_a_daemon_dies_with_a_plain_worker(unlocked, tmp_path):
    """The launcher inherits it, and kills it."""
    if not LINUX:
        pytest.skip("subreaper")
    outlive(unlocked, tmp_path / "mark")


def test_a_daemon_dies_with_its_namespace(tmp_path):
    if not LINUX:
        pytest.skip("namespaces")
    with Launcher(limits=LIMITS, without=["seccomp", "private root", "Landlock", "other user"]) as launcher:
        outlive(launcher, tmp_path / "mark")
        launcher.check()


def outlive(launcher: Launcher, mark: Path) -> None:
    """Start a daemon that writes into `mark`, and see it dead after its submission."""
    with submission(
        launcher, body("causal_mask", DAEMON.format(mark=str(mark)) + "\nreturn torch.ones(1)")
    ) as mine:
        mine.answer(MASK)
        size = mark.stat().st_size
        time.sleep(0.3)
        assert mark.stat().st_size > size > 0
    size = mark.stat().st_size
    time.sleep(0.3)
    assert mark.stat().st_size == size
    assert is_right(launcher)


def test_a_fork_bomb_is_out(launcher):
    code = "import os\nwhile True: os.fork()"
    if "seccomp" not in launcher.layers:
        pytest.skip("needs seccomp")
    with submission(launcher, body("causal_mask", code)) as mine:
        assert failure(mine).raised == "PermissionError"


def processes_below(pid: int) -> set[int]:
    found, todo = set(), [pid]
    while todo:
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{todo[-1]}/task/{todo.pop()}/children").read_text().split()
            todo += map(int, children)
            found |= set(map(int, children))
    return found


def vanish(pids: set[int], seconds: float = 5) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(not LINUX, reason="/proc")
@pytest.mark.parametrize("without", [(), ("namespaces",)], ids=["namespaces", "no namespaces"])
def test_workers_die_with_the_launcher(without):
    with Launcher(limits=LIMITS, without=without) as launcher:
        mine = submission(launcher, body("causal_mask", "while True: pass"))
        mine.answer(Call("attention_weights", (torch.zeros(2, 2), None)))
        below = processes_below(launcher._zygote.process.pid)
        assert below
        os.kill(launcher._pid, signal.SIGKILL)
        assert vanish(below)
        with pytest.raises((IsolationError, StudentError)):
            mine.answer(MASK)
        with pytest.raises(IsolationError, match="launcher"):
            submission(launcher).answer(MASK)


JUDGE = """
import sys, time
from grader.isolation.launcher import Launcher
from grader.isolation.submission import WorkerSubmission
from grader.judge.call import Call
from grader.judge.source import Source
launcher = Launcher()
mine = WorkerSubmission(launcher, Source("mine.py", "def causal_mask(length):\\n    while True: pass", ""))
try:
    mine._load()
finally:
    print(launcher._zygote.process.pid, flush=True)
mine.answer(Call("causal_mask", (4,)))
"""


@pytest.mark.skipif(not LINUX, reason="/proc")
def test_nothing_outlives_a_judge_that_is_killed():
    judge = subprocess.Popen([sys.executable, "-c", JUDGE], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with judge:
        first = int(judge.stdout.readline())
        started = {first} | processes_below(first)
        assert len(started) >= 2
        judge.kill()
        judge.wait()
        assert vanish(started)


def test_workers_share_nothing(launcher):
    write = body("causal_mask", "open('mine', 'x').write('mine')\nraise LookupError(open('mine').read())")
    look = body(
        "causal_mask",
        "import os\nraise LookupError(os.listdir('.'), os.listdir('/tmp'), len(os.listdir('/dev/shm')))",
    )
    with (
        submission(launcher, write) as one,
        submission(launcher, write) as other,
        submission(launcher, look) as third,
    ):
        assert failure(one).seen.values["says"] == "mine"
        assert failure(other).seen.values["says"] == "mine"
        if "private root" in launcher.layers:
            assert "mine" not in failure(third).seen.values["says"]
    with submission(launcher, write) as again:
        assert failure(again).seen.values["says"] == "mine"


def test_settings_do_not_outlive_a_submission(launcher):
    code = "torch.set_default_dtype(torch.float64)\ntorch.Tensor.tril = torch.ones = None"
    with submission(launcher, code) as mine:
        assert failure(mine).outcome == "error"
    assert is_right(launcher)


def test_a_folder_goes_however_it_looks(tmp_path):
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "file").write_text("kept")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(keep)
    (folder / "closed").mkdir()
    (folder / "closed" / "file").write_text("x")
    (folder / "closed").chmod(0)
    os.mkfifo(folder / "fifo")
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1100):  # deeper than any path may be long, and than Python may call itself
        os.mkdir("folder", dir_fd=here)
        below = os.open("folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    removal.remove(str(folder))
    assert not folder.exists()
    assert (keep / "file").read_text() == "kept"


# --- the wire -----------------------------------------------------------------------------------------------

FORGES = """
import os, json, struct
def forge(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    os.write(3, struct.pack(">IQ", len(text), len(body)) + text + body)
def answer(**tensor):
    return {"id": 2, "kind": "answer", "tensors": [tensor]}
def error(outcome, key, **values):
    return {"id": 2, "kind": "error", "outcome": outcome, "key": key, "values": values}
"""


@pytest.mark.parametrize(
    "code",
    [
        "os.write(3, os.urandom(4096))",
        "os.write(3, b'\\xff' * 12)",
        "os.write(3, struct.pack('>IQ', 5, 1 << 62) + b'{\"a\":')",
        "forge(b'[' * 100_000)",
        "forge(b'{\"id\": NaN}')",
        "forge({'id': 2, 'kind': 'passed'})",
        "forge({'id': 2, 'kind': 'loaded'})",
        "forge({'id': 1, 'kind': 'answer'})",
        "forge(answer(dtype='float64', shape=[10**6], bytes=8), b'x' * 8)",
        "forge(answer(dtype='float64', shape=[1, 1], strides=[9, 9], offset=9, bytes=8), b'x' * 8)",
        "forge(error('passed', 'seen.raised', type='', says=''))",
        "forge(error('error', 'seen.grader_error', type='', says=''))",
        "os.close(3)",
    ],
)
def test_nonsense_on_the_channel_hurts_its_writer_alone(launcher, code):
    with submission(launcher, FORGES, body("causal_mask", code + "\nreturn torch.ones(1)")) as mine:
        outcomes = {failure_of(mine) for _ in range(3)}
        assert outcomes <= {"crashed", "timeout", "answered"}
        assert outcomes & {"crashed", "timeout"}
    assert is_right(launcher)


def test_a_thief_of_questions_hurts_itself_alone(launcher):
    """A thread that takes bytes off the channel, now and then before the worker does."""
    thief = """
        import contextlib, threading
        def steal():
            while True:
                with contextlib.suppress(BlockingIOError):
                    os.read(3, 1)
        threading.Thread(target=steal).start()
        return torch.ones(1)
    """
    with submission(launcher, FORGES, body("causal_mask", textwrap.dedent(thief))) as mine:
        assert {failure_of(mine) for _ in range(5)} <= {"crashed", "timeout", "answered"}
    assert is_right(launcher)


def failure_of(submission: WorkerSubmission) -> str:
    try:
        submission.answer(MASK)
    except StudentError as error:
        return error.outcome
    return "answered"


def test_a_forged_error_is_made_printable(launcher):
    forged = {
        "id": 2,
        "kind": "error",
        "outcome": "error",
        "key": "seen.raised",
        "values": {"type": "\x1b[2J", "says": "\ud800\u202e[red]" + "x" * 5000},
        "line": 10**9,
        "raised": "\x00",
    }
    with submission(launcher, FORGES, body("causal_mask", f"forge({forged})\nwhile True: pass")) as mine:
        error = failure(mine)
    assert error.line is None
    assert error.raised == "\N{REPLACEMENT CHARACTER}"
    for lang in ("en", "zh"):
        assert error.seen.say(lang).isprintable()
        assert len(error.seen.say(lang)) < 500


def test_an_answer_ahead_of_its_question_is_refused(launcher):
    code = "import os\nfor _ in range(2): os.write(3, os.read(3, 0))\nreturn torch.ones(1)"
    with submission(launcher, FORGES, body("causal_mask", code)) as mine:
        assert mine.answer(MASK).results[0] == 1


@contextlib.contextmanager
def pair() -> Iterator[tuple[wire.Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield wire.Channel(ours.fileno()), theirs


def soon(seconds: float = 0.2) -> float:
    return time.monotonic() + seconds


def test_frames_travel():
    with pair() as (channel, theirs):
        other = wire.Channel(theirs.fileno())
        large = os.urandom(10_000_000)
        thread = threading.Thread(target=lambda: channel.send({"a": ["ü", 1, None]}, large))
        thread.start()
        assert other.receive(soon(10)) == ({"a": ["ü", 1, None]}, large)
        thread.join()


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", EOFError),
        (b"\0" * 5, EOFError),
        (b"\0" * 12, wire.WireError),  # an empty header is no JSON
        (b"\xff" * 12, wire.WireError),
        (wire._LENGTHS.pack(wire.LARGEST_HEADER + 1, 0), wire.WireError),
        (wire._LENGTHS.pack(2, wire.LARGEST_BODY + 1) + b"{}", wire.WireError),
        (wire._LENGTHS.pack(2, 9) + b"{}" + b"x" * 8, EOFError),
        (wire._LENGTHS.pack(2, 0) + b"[]", wire.WireError),
        (wire._LENGTHS.pack(2, 0) + b"\xff\xff", wire.WireError),
        (wire._LENGTHS.pack(9, 0) + b'{"a":NaN}', wire.WireError),
        (wire._LENGTHS.pack(100_000, 0) + b"[" * 100_000, wire.WireError),
        (wire._LENGTHS.pack(9999, 0) + b'{"a":' + b"9" * 9993 + b"}", wire.WireError),
    ],
)
def test_what_is_no_frame_is_refused(data, error):
    with pair() as (channel, theirs):
        theirs.sendall(data)
        theirs.close()
        with pytest.raises(error):
            channel.receive(soon(5))


def test_a_frame_that_does_not_end_ends_at_the_deadline():
    with pair() as (channel, theirs):
        theirs.sendall(wire._LENGTHS.pack(2, 9) + b"{}")
        with pytest.raises(TimeoutError):
            channel.receive(soon())
        with pytest.raises(TimeoutError):  # nobody reads at the other end
            channel.send({}, b"x" * 20_000_000, soon())


FORWARD = Call(
    "forward",
    (torch.randn(2, 4, 15), None),
    Module(1, 15, 3, {name: torch.randn(15, 15) for name in PROJECTIONS}),
    torch.randn(2, 4, 15),
)
STRANGE = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    1.5,
    "",
    "x",
    "float64",
    "q" * 10_000,
    [],
    [[]],
    {},
    [1] * 2000,
]


def mutated(value: object, rng: random.Random, top: bool = True) -> object:
    """The same with something strange somewhere within."""
    if isinstance(value, dict) and value and (top or rng.random() < 0.9):
        name = rng.choice(list(value))
        if rng.random() < 0.1:
            return {key: one for key, one in value.items() if key != name}
        return value | {name: mutated(value[name], rng, top=False)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        index = rng.randrange(len(value))
        return [*value[:index], mutated(value[index], rng, top=False), *value[index + rng.randrange(2) :]]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice([-1, 1, 8])
    return rng.choice(STRANGE)


def test_a_mutated_answer_is_refused_or_is_an_answer():
    answer = LocalSubmission(Source("mine.py", REFERENCE, "")).answer(FORWARD)
    header, data = protocol.pack_answer(answer)
    assert same(protocol.unpack_answer(header, bytearray(data), FORWARD), answer)
    rng, refused = random.Random(0), 0
    for _ in range(4000):
        strange = header
        for _ in range(rng.randrange(1, 3)):
            strange = mutated(strange, rng)
        cut = data if rng.random() < 0.8 else data[: rng.randrange(len(data))]
        try:
            got = protocol.unpack_answer(strange, bytearray(cut), FORWARD)
        except wire.WireError:
            refused += 1
            continue
        for one in itertools.chain(
            got.results, got.args_after, got.gradients, got.parameter_gradients.values()
        ):
            assert one is None or (type(one) is torch.Tensor and one.numel() <= local.LARGEST_RESULT)
            assert one is None or one.device.type == "meta" or one.double().sum() is not None  # may be read
    assert refused > 2000


def test_a_mutated_error_is_refused_or_is_an_error():
    seen = protocol.text("seen.parameter_shape", name="W", actual=(1,), expected=(2,))
    header, _ = protocol.pack_error(StudentError("error", seen, 3, "ValueError"))
    rng, refused = random.Random(0), 0
    for _ in range(2000):
        try:
            error = protocol.unpack_error(mutated(header, rng), 10)
        except wire.WireError:
            refused += 1
            continue
        assert error.line in (None, *range(1, 11))
        assert error.seen.say("en").isprintable()
    assert refused > 500


def test_mutated_parameters_are_refused_or_are_parameters():
    header, data = protocol.pack_parameters({"W_Q.weight": torch.ones(2, 2), "x" * 50: torch.ones(3)})
    rng = random.Random(0)
    for _ in range(2000):
        with contextlib.suppress(wire.WireError):
            got = protocol.unpack_parameters(mutated(header, rng), bytearray(data))
            assert all(type(one) is torch.Tensor for one in got.values())


def test_bools_are_0_or_1():
    got, _ = tensors._unpack({"dtype": "bool", "shape": [4], "bytes": 4}, bytearray(b"\0\1\2\xff"), 0)
    assert got.tolist() == [False, True, True, True]
    assert got.view(torch.uint8).tolist() == [0, 1, 1, 1]


# --- what is in force ---------------------------------------------------------------------------------------


def test_isolation_is_what_it_is(launcher, unlocked):
    assert unlocked.isolation == "process"
    assert set(UNLOCKED) - {"other user"} <= set(unlocked.missing)
    assert launcher.isolation == (
        "process" if {"seccomp", "limits"} - set(launcher.layers) else launcher.isolation
    )
    assert not set(launcher.layers) & set(launcher.missing)


def test_a_sandbox_may_be_required():
    with pytest.raises(IsolationError, match="seccomp"):
        Launcher(require="sandbox", without=["seccomp"])


@pytest.mark.parametrize("root", [False, True])
def test_what_makes_a_sandbox(root):
    every = {"namespaces", "private root", "limits", "other user", "no new privileges", "Landlock", "seccomp"}

    def isolation(*without: str) -> str:
        return lockdown.isolation(lockdown.Layers(sorted(every - set(without))), root)

    assert isolation() == isolation("namespaces", "private root") == isolation("Landlock") == "sandbox"
    assert isolation("Landlock", "private root") == "process"
    for layer in ("seccomp", "limits", "no new privileges"):
        assert isolation(layer) == "process"
    assert isolation("other user") == ("process" if root else "sandbox")


def test_a_launcher_that_is_not_clean_is_refused(launcher, monkeypatch):
    launcher.check()
    if not launcher._clean:
        pytest.skip("nobody tells here")
    monkeypatch.setattr(launcher, "_clean", launcher._clean | {"threads": 2})
    monkeypatch.setattr(launcher, "close", lambda: None)
    with pytest.raises(IsolationError, match="clean"):
        launcher.check()


def test_the_launcher_stays_as_it_was(launcher):
    before = launcher._state()
    for code in ("import os; os._exit(1)", "import threading; threading.Event().wait()", "print('x')"):
        with submission(launcher, body("causal_mask", code)) as mine:
            failure(mine)
    assert launcher._state() == before
    if LINUX:
        assert before["threads"] == 1
        assert before["children"] == 0
