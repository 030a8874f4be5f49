"""The limits that the kernel keeps for a process."""

import os
import resource
from pathlib import Path

from grader.isolation.limits import Limits


def mapped_memory() -> int | None:
    """Bytes of address space that this process has mapped; None where /proc does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return pages * resource.getpagesize()


def tasks_of_user() -> int | None:
    """How many threads this user runs now, on the whole machine; None where /proc does not tell."""
    if not os.path.exists("/proc/self/task"):
        return None
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == os.getuid():
                count += len(os.listdir(process / "task"))
        except OSError:
            continue  # it ended meanwhile
    return count


def apply(limits: Limits, mapped: int | None, other_tasks: int | None) -> None:
    """Set the limits of this process, for good. OSError if the kernel refuses.

    mapped: the address space that is in use already, and not the submission's doing.
    other_tasks: threads that the kernel counts together with ours (0 for a user of its own).
    What is None is not known, and its limit not set.
    """
    wanted = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(limits.total_s + limits.load_s) + 10,  # the judge's clock is the first to ring
        "RLIMIT_FSIZE": limits.file,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_RTPRIO": 0,
        "RLIMIT_SIGPENDING": 256,
    }
    if mapped is not None:
        wanted["RLIMIT_AS"] = mapped + limits.memory
    if other_tasks is not None:
        wanted["RLIMIT_NPROC"] = limits.processes + other_tasks
    for name, value in wanted.items():
        number = getattr(resource, name, None)  # no system has all of them
        if number is not None:
            hard = resource.getrlimit(number)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            try:
                resource.setrlimit(number, (value, value))
            except ValueError as error:
                raise OSError(f"{name}: {error}") from error
