"""Writes reports to files, in one step each."""

import json
import os
from pathlib import Path
from typing import Any


def write_text(text: str, file: Path, private: bool = False) -> None:
    """Write a file in one step: a reader finds the old one or the new one, never half of it.

    private: for nobody else to read, where the system knows of that.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}")  # not mkstemp, which hides it from others
    temporary.unlink(missing_ok=True)
    try:
        # "x": a link there is not followed
        with open(
            temporary, "x", encoding="utf-8", newline="", opener=_private if private else None
        ) as stream:
            stream.write(text)
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(data: Any, file: Path, private: bool = False) -> None:
    """Write JSON as text that a person can read."""
    write_text(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n", file, private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
