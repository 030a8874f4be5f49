"""Another user, and no capabilities: what is left of root's power in a worker is nothing."""

import contextlib
import ctypes
import errno
import os
import signal
import struct
import sys

from grader.isolation.syscalls import call, prctl

# Ids that systemd hands out to passing services, within the 65,536 that every container has.
_FIRST, _COUNT = 61184, 4096
_PDEATHSIG, _DUMPABLE, _CAPBSET_DROP, _NO_NEW_PRIVS, _AMBIENT, _AMBIENT_CLEAR_ALL = 1, 4, 24, 38, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522


def stranger(number: int) -> int:
    """A user id that nobody has, different for each worker of a launcher for a long time."""
    return _FIRST + number % _COUNT


def become(user: int) -> None:
    """Change from root to a user, for good. OSError if the user does not exist in this container."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def drop_capabilities() -> None:
    """Give up every capability that a program could give back. OSError. Elsewhere than on Linux: nothing."""
    if sys.platform != "linux":
        return
    for capability in range(64):
        try:
            prctl("capabilities", _CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == errno.EINVAL:
                break  # the kernel has no more of them
            if error.errno != errno.EPERM:  # without any capability there is none to drop
                raise
    prctl("capabilities", _AMBIENT, _AMBIENT_CLEAR_ALL)


def forget_capabilities() -> None:
    """Clear the capabilities in force. OSError. Elsewhere than on Linux: nothing."""
    if sys.platform != "linux":
        return
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0))
    call("capset", header, ctypes.create_string_buffer(24))


def die_with_parent() -> None:
    """Be killed when the process that forked this one ends. A change of user would undo it."""
    with contextlib.suppress(OSError):  # not Linux
        prctl("parent death signal", _PDEATHSIG, signal.SIGKILL)


def stay_private() -> None:
    """No dump of memory at a crash, which systemd would keep, and no look into it for others of this user."""
    with contextlib.suppress(OSError):  # not Linux
        prctl("dumpable", _DUMPABLE, 0)


def no_new_privileges() -> None:
    """No program that is started from here gains any right. OSError."""
    prctl("no_new_privs", _NO_NEW_PRIVS, 1)
