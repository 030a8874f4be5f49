"""The processes of zygote and launcher: torch is loaded once, in one thread, for all that is forked.

A zygote forks a launcher for each judge, and a launcher a locked worker for each submission. They run no
student code, read nothing that a worker has written, and know no secret: they are started before there is
one, with an empty environment.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from grader.isolation import lockdown, namespaces, paths, privileges, rlimits
from grader.isolation.limits import Limits
from grader.isolation.lockdown import Layers, Plan
from grader.isolation.removal import remove
from grader.isolation.syscalls import prctl
from grader.isolation.wire import Channel

_PR_SET_CHILD_SUBREAPER = 36
_CHANNEL = 3  # the descriptor of a worker's channel


def main(door: int) -> None:
    """Load torch, and fork a launcher for each judge that knocks, until nobody holds the door."""
    config, _ = Channel(door).receive()
    os.set_blocking(door, True)
    os.umask(0o022)
    sys.path += [path for path in config["path"] if path not in sys.path]
    serve_calls = _load_torch()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # of a launcher that has ended nothing is left
    with socket.socket(fileno=door) as knocks:
        while descriptors := socket.recv_fds(knocks, 1, 2)[1]:
            if not os.fork():
                knocks.close()
                launch(*descriptors, config["path"], serve_calls)
                break
            for descriptor in descriptors:
                os.close(descriptor)
    os._exit(0)  # there is nothing to clear away, and torch would take its time


def launch(control: int, errors: int, packages: list[str], serve_calls: Callable[[Channel], None]) -> None:
    """Serve the judge at the other end of `control` until it is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(errors, 2)
    os.close(errors)
    config, _ = Channel(control).receive()
    plan = Plan(
        limits=Limits(**config["limits"]),
        without=frozenset(config["without"]),
        layers=Layers(),
        root=os.geteuid() == 0,
    )
    _enter_namespaces(plan, control)
    pid = int(os.readlink("/proc/self")) if sys.platform == "linux" else os.getpid()
    plan.user = privileges.stranger(pid * 64)
    _prepare(plan, packages)
    Forkserver(control, plan, pid, serve_calls).serve()


def _enter_namespaces(plan: Plan, control: int) -> None:
    """Go on in a child that is number 1 among its processes: when it ends, the kernel ends its workers."""
    lockdown.enter_namespaces(plan)
    if lockdown.NAMESPACES not in plan.layers.in_force:
        with contextlib.suppress(OSError):
            prctl("subreaper", _PR_SET_CHILD_SUBREAPER, 1)  # orphans come to us, to be killed
        return
    inside = os.fork()
    if inside:
        os.close(control)  # so that the judge sees when the child is gone
        os._exit(os.waitstatus_to_exitcode(os.waitpid(inside, 0)[1]) & 0xFF)
    privileges.die_with_parent()
    plan.children = namespaces.ForChildren()


def _load_torch() -> Callable[[Channel], None]:
    """Load all that workers need; what a worker does."""
    # a pool of threads would not survive fork, and torch.compile would find no compiler in a worker
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TORCH_COMPILE_DISABLE"):
        os.environ[name] = "1"
    from grader.isolation import preload, worker

    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder  # torch's compiler would make one, and leave it
        preload.warm_up()
    os.environ.clear()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    _tell_nothing()
    gc.collect()
    gc.freeze()  # a collection in a worker need not copy the memory that it shares with us
    return worker.serve


def _prepare(plan: Plan, packages: list[str]) -> None:
    """All that needs doing only once for all workers."""
    repository = Path(__file__).resolve().parents[2]
    plan.mapped = rlimits.mapped_memory()
    plan.readable = paths.needed(packages, repository)
    if lockdown.NAMESPACES not in plan.layers.in_force and not plan.root:
        plan.other_tasks = rlimits.tasks_of_user()
    lockdown.share(plan)


def _tell_nothing() -> None:
    """Leave nothing of the judge's in what a program can ask about itself."""
    sys.argv = sys.orig_argv = [""]
    for name, module in sys.modules.items():
        if name.split(".")[0] == "grader" and hasattr(module, "__path__"):
            for folder in module.__path__:
                sys.path_importer_cache.pop(folder, None)  # it lists the files there
            module.__path__ = []  # nothing more of ours can be imported


class Forkserver:
    """Does what the judge asks for, one thing after another."""

    def __init__(self, control: int, plan: Plan, pid: int, serve_calls: Callable[[Channel], None]):
        self._socket = socket.socket(fileno=control)
        self._channel = Channel(control)
        self._plan = plan
        self._serve_calls = serve_calls
        self._pid = pid  # as the judge knows this process
        self._folders: dict[int, str] = {}  # of the workers that live
        self._forked = 0

    def serve(self) -> None:
        """Until the judge is gone; then nothing that was started here is left."""
        do = {"fork": self._fork, "kill": self._kill}
        try:
            self._channel.send({"pid": self._pid, "folders": self._plan.folders})
            while True:
                header, _ = self._channel.receive()
                self._channel.send(do[header["do"]](header))
        except EOFError:
            pass
        finally:
            for pid in list(self._folders):
                self._kill({"pid": pid})
            if self._plan.folders:
                remove(self._plan.folders)

    def _fork(self, _: dict) -> dict:
        select.select([self._socket], [], [])
        _, descriptors, *_ = socket.recv_fds(self._socket, 1, 2)
        self._forked += 1
        self._plan.user = privileges.stranger(self._pid * 64 + self._forked)
        folder = self._plan.folder()
        with self._plan.children or contextlib.nullcontext():
            pid = os.fork()
            if not pid:
                self._work(*descriptors, folder)
        for descriptor in descriptors:
            os.close(descriptor)
        self._folders[pid] = folder
        return {"pid": pid}

    def _work(self, channel: int, output: int, folder: str) -> NoReturn:
        """In the child: become a worker, and never come back."""
        try:
            os.setsid()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(channel, _CHANNEL)
            self._socket.detach()  # its number is about to be another file's
            os.closerange(_CHANNEL + 1, 1 << 16)
            layers = lockdown.lock(self._plan, folder)
            lockdown.settle(folder)
            channel = Channel(_CHANNEL)
            isolation = lockdown.isolation(layers, self._plan.root)
            channel.send({"isolation": isolation, "layers": layers.in_force, "missing": layers.missing})
            self._serve_calls(channel)
        except EOFError:
            pass  # the judge is gone
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(70)

    def _kill(self, header: dict) -> dict:
        pid = header["pid"]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not self._plan.children:
            _kill_orphans(set(self._folders))
        folder = self._folders.pop(pid)
        if self._plan.folders:  # else it went with its mount
            remove(folder)
        code = os.waitstatus_to_exitcode(status)
        return {"how": f"exit {code}" if code >= 0 else signal.Signals(-code).name}


def _kill_orphans(workers: set[int]) -> None:
    """Kill the processes that a dead worker has left to us, and those that these leave in turn."""
    for _ in range(100):
        orphans = _children() - workers
        if not orphans:
            return
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> set[int]:
    """The children of this process; none where /proc does not tell."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = file.read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.add(int(file.parent.name))
    return found
