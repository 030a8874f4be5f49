"""Locks a worker in, layer by layer, and tells which layers are in force.

Each layer alone stops most of what is known, and they are kept apart so that a machine without one of
them still has the others. What makes a sandbox of them is in `isolation`.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.isolation import landlock, namespaces, privileges, rlimits, seccomp
from grader.isolation.limits import MIB, Limits
from grader.isolation.trial import try_in_a_child

LIMITS = "limits"
NAMESPACES = "namespaces"
ROOT = "private root"
USER = "other user"
PRIVILEGES = "no new privileges"
LANDLOCK = "Landlock"
SECCOMP = "seccomp"
_EMPTY = "/scratch"  # the private folder, where the worker's root is private too


@dataclass
class Layers:
    """The layers in force, and why others are not."""

    in_force: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    def attempt(self, name: str, without: frozenset[str], put: Callable[[], object]) -> None:
        """Put a layer in force, and note whether that was possible."""
        try:
            if name in without:
                raise OSError("left out as asked")
            put()
        except OSError as error:
            self.missing[name] = error.strerror or str(error)
        else:
            self.in_force.append(name)

    def copy(self) -> "Layers":
        return Layers(list(self.in_force), dict(self.missing))


def isolation(layers: Layers, root: bool) -> str:
    """ "sandbox" if nothing of the judge can be read, reached or outlived, else "process"."""
    needed = {LIMITS, PRIVILEGES, SECCOMP} | ({USER} if root else set())
    files = {LANDLOCK, ROOT} & set(layers.in_force)
    return "sandbox" if needed <= set(layers.in_force) and files else "process"


@dataclass
class Plan:
    """What the launcher knows when it forks a worker."""

    limits: Limits
    without: frozenset[str]
    layers: Layers  # those that the launcher itself is in, and its workers with it
    root: bool
    readable: list[str] = field(default_factory=list)
    mapped: int | None = None
    other_tasks: int | None = 0
    user: int = 0  # of the next worker
    folders: str | None = None  # where workers' folders go, if they are on disk
    children: namespaces.ForChildren | None = None

    def changes_user(self) -> bool:
        """Whether a worker becomes another user."""
        return self.root and USER not in self.layers.missing

    def folder(self) -> str:
        """A folder for one worker."""
        if not self.folders:
            return _EMPTY  # each worker mounts its own there
        path = tempfile.mkdtemp(dir=self.folders)
        if self.changes_user():
            os.chown(path, self.user, self.user)
        return path


def enter_namespaces(plan: Plan) -> None:
    """Enter namespaces that the launcher has with its workers, if that and theirs can be had."""
    plan.layers.attempt(NAMESPACES, plan.without, _enter_safely)


def _enter_safely() -> None:
    # some systems let a process in, and then allow it nothing there
    try_in_a_child(lambda: (namespaces.enter(), namespaces.separate("/tmp", MIB, None)))
    namespaces.enter()


def share(plan: Plan) -> None:
    """Put those layers in force that one process has with all its workers, and try what each will need."""
    plan.layers.attempt(ROOT, plan.without, lambda: _take_root_safely(plan))
    if ROOT not in plan.layers.in_force:
        plan.folders = tempfile.mkdtemp(prefix="attention-")
        os.chmod(plan.folders, 0o711)  # workers of another user pass through
    if plan.root:
        trial = Layers()
        trial.attempt(USER, plan.without, lambda: try_in_a_child(lambda: _become_and_read(plan.user)))
        plan.layers.missing |= trial.missing  # in force it is in the workers alone


def _take_root_safely(plan: Plan) -> None:
    if NAMESPACES not in plan.layers.in_force:
        raise OSError("needs namespaces")
    # half of it would be worse than none, so a child tries it first
    try_in_a_child(lambda: (namespaces.separate_mounts(), _take_root(plan)))
    _take_root(plan)


def _become_and_read(user: int) -> None:
    privileges.become(user)
    _can_read()


def _take_root(plan: Plan) -> None:
    namespaces.root_of_its_own(plan.readable, _EMPTY)


def _can_read() -> None:
    """OSError if Python and torch cannot be read from here."""
    for file in (os.__file__, sys.modules["torch"].__file__):
        try:
            with open(file, "rb"):
                pass
        except OSError as error:
            raise OSError(f"{file} cannot be read by a submission's user: {error.strerror}") from None


def lock(plan: Plan, folder: str) -> Layers:
    """Lock this process in. Nothing of a submission may have run in it."""
    layers = plan.layers.copy()
    owner = plan.user if plan.changes_user() else None
    if NAMESPACES in layers.in_force:
        namespaces.separate(folder, plan.limits.folder, owner)
    layers.attempt(LIMITS, plan.without, lambda: rlimits.apply(plan.limits, plan.mapped, plan.other_tasks))
    os.umask(0o077)
    if plan.root or NAMESPACES in layers.in_force:
        privileges.drop_capabilities()
        if owner is not None:
            privileges.become(owner)
            layers.in_force.append(USER)
        privileges.forget_capabilities()
    privileges.die_with_parent()
    privileges.stay_private()
    layers.attempt(PRIVILEGES, plan.without, privileges.no_new_privileges)
    layers.attempt(LANDLOCK, plan.without, lambda: landlock.restrict(plan.readable, [folder, "/dev/null"]))
    layers.attempt(SECCOMP, plan.without, seccomp.restrict)
    _can_read()  # better now than in the middle of a submission
    return layers


def settle(folder: str) -> None:
    """Make the private folder the place to be, and all that the environment names."""
    os.environ |= {"HOME": folder, "TMPDIR": folder, "MPLBACKEND": "Agg"}
    tempfile.tempdir = None  # it remembers where the launcher's was
    os.chdir(folder)
