"""Which files Python and torch need while they run: all that a submission may read."""

import os
import sys
import sysconfig
from collections.abc import Collection, Iterable
from pathlib import Path

_SYSTEM = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
    "/dev/random",
)


def needed(extra: Collection[str], secret: Path) -> list[str]:
    """Folders and files to be readable, `extra` too, with none that is `secret` or holds it."""
    stdlib = sysconfig.get_paths()
    # not all of sys.path: an editable install puts whole projects on it
    packages = {path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix)) or path in extra}
    paths = {*_SYSTEM, *packages, stdlib["stdlib"], stdlib["platstdlib"], *_loaded_libraries()}
    hidden = os.path.realpath(secret)
    return sorted(kept for path in paths if os.path.isabs(path) for kept in _without(path, hidden))


def _loaded_libraries() -> set[str]:
    """The folders of the shared libraries in this process: of others like them, that are loaded later."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return set()
    files = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {os.path.dirname(file) for file in files if ".so" in os.path.basename(file)}


def _without(path: str, hidden: str) -> Iterable[str]:
    """A path, or in its place what it holds, if the hidden folder is in it."""
    real = os.path.realpath(path)
    if real == hidden or not os.path.exists(real):
        return
    if os.path.isdir(real) and hidden.startswith(real.rstrip("/") + "/"):
        for name in os.listdir(real):
            yield from _without(os.path.join(path, name), hidden)
    else:
        yield path
