"""The C library's calls that Python 3.11 has no function for, with errors raised as OSError."""

import ctypes
import errno
import os
import sys

_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *args: object) -> int:
    """Call a function of the C library. OSError, naming it, if it returns -1."""
    _linux_only()
    return _checked(name, getattr(_libc, name)(*args))


def syscall(name: str, number: int, *args: object) -> int:
    """Call the kernel by number, for what the C library does not know. OSError as above."""
    _linux_only()
    # ctypes would pass an int as 32 bits, and the variadic function reads 64
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(name, _libc.syscall(ctypes.c_long(number), *wide))


def prctl(name: str, option: int, *args: int) -> int:
    """Change something about this process. OSError as above."""
    _linux_only()
    wide = [ctypes.c_ulong(arg) for arg in (*args, 0, 0, 0, 0)[:4]]
    return _checked(name, _libc.prctl(ctypes.c_int(option), *wide))


def _linux_only() -> None:
    if sys.platform != "linux":  # the same numbers and names do other things elsewhere
        raise OSError(errno.ENOSYS, "only Linux has it")


def _checked(name: str, result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
