"""What a submission may use."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Seconds by the clock on the wall; bytes; numbers of things."""

    load_s: float = 20.0  # importing the file, once
    call_s: float = 10.0  # one call; most take a millisecond, a long mask set item by item 2 s
    total_s: float = 60.0  # all requests of a submission together
    memory: int = 1024 * MIB  # address space beyond what the launcher has mapped already
    file: int = 16 * MIB
    folder: int = 64 * MIB  # the private folder, where it is a file system of its own
    processes: int = 64  # threads are counted too
    open_files: int = 64
