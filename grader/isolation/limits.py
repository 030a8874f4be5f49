"""What a submission may use, and the part of it that the kernel counts."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Seconds by the clock on the wall; bytes; numbers of things."""

    load_s: float = 20.0  # importing the file, once
    call_s: float = 5.0  # one call; an honest one takes a millisecond
    total_s: float = 60.0  # all requests of a submission together
    memory: int = 1024 * MIB  # address space beyond what the launcher has mapped already
    file: int = 16 * MIB
    folder: int = 64 * MIB  # the private folder, where it is a file system of its own
    processes: int = 64  # threads are counted too
    open_files: int = 64


def mapped_memory() -> int | None:
    """Bytes of address space that this process has mapped; None where /proc does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return pages * resource.getpagesize()


def tasks_of_user() -> int:
    """How many threads this user runs now, on the whole machine; 0 where /proc does not tell."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == os.getuid():
                count += len(os.listdir(process / "task"))
        except OSError:
            continue  # it ended meanwhile
    return count


def apply(limits: Limits, mapped: int | None, other_tasks: int) -> None:
    """Set the limits of this process, for good. OSError if the kernel refuses.

    mapped: the address space that is in use already, and not the submission's doing.
    other_tasks: threads that the kernel counts together with ours (0 for a user of its own).
    """
    wanted = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(limits.total_s + limits.load_s) + 10,  # the judge's clock is the first to ring
        "RLIMIT_FSIZE": limits.file,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_NPROC": limits.processes + other_tasks,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_RTPRIO": 0,
        "RLIMIT_SIGPENDING": 256,
    }
    if mapped is not None:
        wanted["RLIMIT_AS"] = mapped + limits.memory
    for name, value in wanted.items():
        number = getattr(resource, name, None)  # no system has all of them
        if number is not None:
            hard = resource.getrlimit(number)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(number, (value, value))
