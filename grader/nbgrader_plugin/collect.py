"""`nbgrader collect` that takes what counts of each submission, and stops at none of them."""

import os
from logging import Logger
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import rmtree

from grader.nbgrader_plugin.assignments import notebook_of
from grader.nbgrader_plugin.intake import empty, take


class Collect(ExchangeCollect):
    """Copies the notebook and student/attention.py, follows no link, and believes no timestamp within."""

    def do_copy(self, src: str, dest: str, log: Logger | None = None) -> None:
        """Copy one submission; an empty one in its place if it cannot be read at all."""
        timestamp = os.path.basename(src).rsplit("+", 3)[2]  # as ExchangeCollect reads it
        notebook = notebook_of(self.coursedir.assignment_id)
        try:
            take(Path(src), Path(dest), notebook, timestamp)
        except OSError as error:
            self.log.error("%s cannot be read, and counts as empty: %s", src, error)
            if os.path.lexists(dest):
                rmtree(dest)
            empty(Path(dest), notebook, timestamp)
        if self.coursedir.groupshared:
            _share(Path(dest))


def _share(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o2770 if path.is_dir() else 0o660)
