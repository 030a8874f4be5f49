"""Linux namespaces: processes, network and files of one's own, where the kernel lets us have them."""

import contextlib
import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable
from pathlib import Path

from grader.isolation.syscalls import call, syscall

_MOUNTS, _UTS, _IPC, _USER, _PID, _NET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_NOBODY = 65534
_OLD = "/old"


def enter() -> None:
    """New namespaces for this process, and a new one of processes for its children. OSError if refused.

    As root, real ones; for anybody else within a namespace of users, where the kernel allows that.
    """
    user, group = os.geteuid(), os.getegid()
    flags = _MOUNTS | _UTS | _IPC | _PID | _NET
    call("unshare", flags if user == 0 else flags | _USER)
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        # nobody and not root within: uid 0 is given capabilities at every turn
        Path("/proc/self/uid_map").write_text(f"{_NOBODY} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{_NOBODY} {group} 1")
    call("sethostname", b"localhost", 9)
    _mount(None, "/", None, _REC | _PRIVATE)  # or what we mount is mounted outside too


class ForChildren:
    """Gives each child that is forked within it a namespace of processes: it is number 1 there, and with
    number 1 the kernel kills all others."""

    def __init__(self):
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def __enter__(self) -> None:
        call("unshare", _PID)

    def __exit__(self, *_: object) -> None:
        call("setns", self._own, _PID)


def separate_mounts() -> None:
    """What is mounted from here on is seen by this process alone. OSError."""
    call("unshare", _MOUNTS)


def separate(folder: str, size: int, owner: int | None) -> None:
    """In a worker: nothing shared with other workers, and an empty file system on `folder`. OSError."""
    call("unshare", _MOUNTS | _UTS | _IPC | _NET)
    _mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV | _NOEXEC, f"size={size},nr_inodes=2048,mode=700")
    if owner is not None:
        os.chown(folder, owner, owner)


def root_of_its_own(readable: Iterable[str], empty: str) -> None:
    """From now on this process sees these paths, read-only, and an empty folder. No other file. OSError.

    Every path is to be found both as it is written and as it is with all links resolved.
    """
    if platform.machine() not in _PIVOT_ROOT:
        raise OSError(errno.ENOSYS, f"pivot_root: not known on {platform.machine()}")
    sources = {path: os.path.realpath(path) for path in readable if os.path.exists(path)}
    targets = {target: source for path, source in sources.items() for target in (path, source)}
    devices = [path for path in targets if path.startswith("/dev/")]
    _mount("tmpfs", "/tmp", "tmpfs", _NOSUID | _NODEV, "size=1m,mode=755")
    os.mkdir("/tmp" + _OLD)
    syscall("pivot_root", _PIVOT_ROOT[platform.machine()], b"/tmp", b"/tmp" + _OLD.encode())
    os.chdir("/")
    for target in sorted(_outermost(targets), key=len):
        _show(_OLD + targets[target], target, read_only=target not in devices)
    os.makedirs(empty, exist_ok=True)
    for link in ("/tmp", "/dev/shm"):
        if not os.path.lexists(link):
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(empty, link)
    call("umount2", _OLD.encode(), _DETACH)
    os.rmdir(_OLD)
    _mount(None, "/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def _outermost(paths: Iterable[str]) -> list[str]:
    """Without those that lie beneath another."""
    kept: list[str] = []
    for path in sorted(paths):
        if not any(path.startswith(other.rstrip("/") + "/") for other in kept):
            kept.append(path)
    return kept


def _show(source: str, target: str, read_only: bool) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    _mount(source, target, None, _BIND | _REC)
    # a device does not count as written to by what is written into it, and nodev would close it
    attributes = _RDONLY | _NOSUID | (_NODEV if read_only else 0)
    change = struct.pack("=QQQQ", attributes, 0, 0, 0)
    buffer = ctypes.create_string_buffer(change, len(change))
    syscall("mount_setattr", _MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE, buffer, len(change))


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    call("mount", *encoded[:3], ctypes.c_ulong(flags), encoded[3])
