"""Landlock: a process gives up all files but those named, without being root. Linux 5.13 and later."""

import ctypes
import os
import stat
from collections.abc import Iterable

from grader.isolation.syscalls import syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all architectures
_GET_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG, _MAKE_SYM = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
_TRUNCATE = 1 << 14
_READ = _READ_FILE | _READ_DIR
_OWN = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _TRUNCATE
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE  # the rights that a rule on a file may have

# version -> the rights on files that the kernel knows, each with all before it
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1, 9: (1 << 17) - 1}
_BIND_AND_CONNECT_TCP = 3  # version 4
_ABSTRACT_SOCKETS_AND_SIGNALS = 3  # version 6: none of either beyond this process


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The version of Landlock that the kernel has. OSError if it has none."""
    return syscall("Landlock", _CREATE_RULESET, None, 0, _GET_VERSION)


def restrict(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Leave this process these paths and what is beneath them; needs no_new_privs. OSError if it cannot be.

    Nothing at all may be executed, and what is not named here may not be opened. Paths that cannot be found
    from here are passed over.
    """
    known = version()
    files = max(rights for since, rights in _HANDLED.items() if since <= known)
    ruleset = _Ruleset(
        files,
        _BIND_AND_CONNECT_TCP if known >= 4 else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if known >= 6 else 0,
    )
    size = 24 if known >= 6 else 16 if known >= 4 else 8  # an older kernel refuses what it does not know
    descriptor = syscall("Landlock", _CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    try:
        for paths, rights in ((readable, _READ), (writable, _OWN)):
            for path in paths:
                _allow(descriptor, path, rights & files)
        syscall("Landlock", _RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _OF_A_FILE
        rule = _Rule(rights, parent)
        syscall("Landlock", _ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)
