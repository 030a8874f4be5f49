"""Removes what a submission has left in its folder."""

import contextlib
import os

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove(folder: str) -> None:
    """Remove a worker's folder, however deep and odd. It must be dead."""
    with contextlib.suppress(OSError):
        _empty(folder)
        os.rmdir(folder)


def _empty(folder: str) -> None:
    """Step by step and not by recursion or by path: a submission may nest folders deeper than either goes."""
    here = os.open(folder, _FOLDER)
    try:
        levels = [_unlink_files(here)]  # the folders that are still to go, from the top to here
        while True:
            if levels[-1]:
                name = levels[-1][-1]
                os.chmod(name, 0o700, dir_fd=here)
                here = _move(here, name)
                levels.append(_unlink_files(here))
            elif len(levels) > 1:
                levels.pop()
                here = _move(here, "..")
                os.rmdir(levels[-1].pop(), dir_fd=here)
            else:
                return
    finally:
        os.close(here)


def _unlink_files(here: int) -> list[str]:
    """Remove what is no folder; the names of the folders."""
    with os.scandir(here) as entries:
        kept, gone = [], []
        for entry in entries:
            (kept if entry.is_dir(follow_symlinks=False) else gone).append(entry.name)
    for name in gone:
        os.unlink(name, dir_fd=here)
    return kept


def _move(here: int, name: str) -> int:
    there = os.open(name, _FOLDER, dir_fd=here)
    os.close(here)
    return there
