"""The secret seed of a course: the inputs of official grading hang on it."""

import os
import secrets
import stat
from pathlib import Path

VARIABLE = "ATTENTION_SEED"
FILE = "secret_seed"  # in the root of the course


class SeedError(Exception):
    """There is no seed that only the instructor knows."""


def secret_seed(course: Path) -> str:
    """The seed from the environment, or from a file of the course that is made at first use. SeedError."""
    seed = os.environ.get(VARIABLE)
    if seed is not None and not seed.strip():
        raise SeedError(f"{VARIABLE} is set and empty. Unset it, or give it a value.")
    return seed.strip() if seed else _from(course / FILE)


def _from(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(file)
    except OSError as error:
        raise SeedError(f"{file} cannot be made: {error.strerror}.") from None
    with open(descriptor, "w", encoding="ascii") as stream:
        stream.write(secrets.token_hex(16) + "\n")
    return _read(file)


def _read(file: Path) -> str:
    try:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise SeedError(f"{file} is not a regular file.")
        if status.st_mode & (stat.S_IRWXO | stat.S_IWGRP):
            raise SeedError(f"{file} is open to others: chmod 600 it, or 640 for several graders.")
        seed = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SeedError(f"{file} cannot be read: {error}.") from None
    if not seed:
        raise SeedError(f"{file} is empty. Remove it, and a new one is made.")
    return seed
