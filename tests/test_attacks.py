"""The corpus of attacks through `python -m grader class`: nothing gained, nothing left, nobody hurt.

All of them are graded in one run, an honest submission after each. That they are attacks at all is shown
where nothing is in their way: in the judge's own process, and in a worker that is not locked in.
"""

import ast
import contextlib
import csv
import ctypes
import functools
import gc
import hashlib
import json
import os
import pty
import pwd
import random
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import ESCAPES, REFERENCE
from nbgrader_users import users

from grader import manifest
from grader.classroom import grading
from grader.classroom.collect import Entry, find_submissions
from grader.classroom.results import Results
from grader.isolation.launcher import Launcher
from grader.isolation.limits import Limits
from grader.isolation.submission import WorkerSubmission
from grader.judge.score import OUTCOMES
from grader.judge.text import catalogue
from grader.reports.class_report import COLUMNS
from grader.run import grade
from grader.stub import ROOT
from tests.attacks import KINDS, WRONG, Attack, attacks, own_code

SEED = "11"
LIMITS = Limits(load_s=5, call_s=2.5, total_s=9)  # honest ones need less on a busy machine, too
# `python -m grader class` with these limits, so that what hangs does not hang for long
CLASS = f"""
import functools
from grader.__main__ import main
from grader.classroom import command
from grader.isolation.limits import Limits
command.grade_class = functools.partial(command.grade_class, limits={LIMITS!r})
raise SystemExit(main())
"""
UNLOCKED = ("namespaces", "private root", "other user", "Landlock", "seccomp", "limits")
LINUX = sys.platform == "linux"
ALL = attacks()

pytestmark = pytest.mark.skipif(not LINUX, reason="what is looked for afterwards is Linux's")


@dataclass
class World:
    """What attacks may aim at: a copy of the repository, a class, and things that others would notice."""

    folder: Path
    python: str = sys.executable
    token: str = field(default_factory=lambda: f"attention{secrets.token_hex(8)}")
    secret: str = field(default_factory=lambda: secrets.token_hex(8))
    # a short name, where a socket has room
    temporary: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="attacks-")))

    def __post_init__(self):
        for name in ("class", "out", "marks"):
            (self.folder / name).mkdir()
        self.out.rmdir()
        self.marks.chmod(0o777)
        (self.marks / "target").write_text("as it was")
        (self.marks / "target").chmod(0o666)
        for path in (self.folder, *self.folder.parents):  # only rights keep an attack away, not the way there
            if path.stat().st_uid == os.getuid() and path.name and not path.stat().st_mode & stat.S_ISVTX:
                path.chmod(path.stat().st_mode | 0o755)
        skip = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "report")
        for name in ("grader", "solutions", "student", "assignments"):
            shutil.copytree(ROOT / name, self.repo / name, ignore=skip)
        self._tcp, self._udp, self._unix, self._abstract = (
            socket.socket(family, kind)
            for family, kind in (
                (socket.AF_INET, socket.SOCK_STREAM),
                (socket.AF_INET, socket.SOCK_DGRAM),
                (socket.AF_UNIX, socket.SOCK_STREAM),
                (socket.AF_UNIX, socket.SOCK_STREAM),
            )
        )
        self._tcp.bind(("127.0.0.1", 0))
        self._udp.bind(("127.0.0.1", 0))
        with contextlib.chdir(self.folder):  # the whole path may be too long for a socket
            self._unix.bind("unix")
            os.chmod("unix", 0o777)
        self._abstract.bind(f"\0{self.token}")
        for one in (self._tcp, self._unix, self._abstract):
            one.listen()
        for one in self._sockets:
            one.setblocking(False)

    @property
    def _sockets(self) -> tuple[socket.socket, ...]:
        return self._tcp, self._udp, self._unix, self._abstract

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    @property
    def submissions(self) -> Path:
        return self.folder / "class"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def marks(self) -> Path:
        return self.folder / "marks"

    @property
    def names(self) -> dict[str, object]:
        """What stands between at signs in an attack."""
        return {
            "REPO": self.repo,
            "CLASS": self.submissions,
            "OUT": self.out,
            "MARKS": self.marks,
            "TOKEN": self.token,
            "SECRET": self.secret,
            "TCP": self._tcp.getsockname()[1],
            "UDP": self._udp.getsockname()[1],
            "UNIX": self.folder / "unix",
            "TEST": os.getpid(),
        }

    @property
    def environment(self) -> dict[str, str]:
        """Of the judge."""
        return os.environ | {
            "ATTENTION_SECRET": f"{self.secret}-is-known",
            "TMPDIR": str(self.temporary),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TERM": "xterm-256color",
        }

    def heard(self) -> list[str]:
        """Which of the sockets anybody has spoken to."""
        found = []
        for name, one in zip(("tcp", "udp", "unix", "abstract"), self._sockets, strict=True):
            with contextlib.suppress(BlockingIOError):
                one.recv(1) if name == "udp" else one.accept()[0].close()
                found.append(name)
        return found

    def close(self) -> None:
        for one in self._sockets:
            one.close()
        for path in self.submissions.iterdir():
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)  # so that pytest can remove it
        shutil.rmtree(self.temporary)

    def command(self, *python: str, out: Path | None = None, jobs: int = 2) -> list[str]:
        """The class, on a copy of the repository that nobody else changes."""
        out = out or self.out
        arguments = ["class", str(self.submissions), "--out", str(out), "--seed", SEED, "--jobs", str(jobs)]
        return [self.python, *(python or ("-c", CLASS)), *arguments]


def state_of(folder: Path) -> dict[str, object]:
    """Everything that can be told of a folder's files, by path."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        content = None
        if stat.S_ISREG(status.st_mode) and status.st_size < 10_000_000:
            with contextlib.suppress(PermissionError):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
        times = None if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
        attributes = os.listxattr(path, follow_symlinks=False)
        found[str(path)] = (status.st_mode, status.st_uid, status.st_size, times, attributes, content)
    return found


def differing(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """The paths that came, went or are no longer the same."""
    return sorted(name for name in before | after if before.get(name) != after.get(name))


def left_anywhere(token: str) -> list[str]:
    """Files, queues, memory and keys of that name on the whole machine."""
    found = []
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "~", "~/.cache", "."):
        with contextlib.suppress(OSError):
            path = os.path.expanduser(folder)
            found += [os.path.join(path, name) for name in os.listdir(path) if token in name]
    key = int.from_bytes(token[-3:].encode(), "big")
    for kind in ("shm", "msg", "sem"):
        with contextlib.suppress(OSError):
            for line in Path("/proc/sysvipc", kind).read_text().splitlines()[1:]:
                if int(line.split()[0]) == key:
                    found.append(f"{kind}: {line}")
    with contextlib.suppress(OSError):
        found += [line for line in Path("/proc/keys").read_text().splitlines() if token in line]
    return found


def children() -> set[int]:
    """The living children of this process."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        for pid in map(int, (task / "children").read_text().split()):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.add(pid)
    return found


@contextlib.contextmanager
def orphans() -> Iterator[list[int]]:
    """Processes that are left 10 seconds after what is done here; they come to us when their parents end."""
    left: list[int] = []
    libc = ctypes.CDLL(None)
    before = children()
    libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    try:
        yield left
    finally:
        until = time.monotonic() + 10
        while children() - before and time.monotonic() < until:
            time.sleep(0.05)
        libc.prctl(36, 0, 0, 0, 0)
        left += children() - before
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def on_a_terminal(command: list[str], **options: object) -> tuple[int, bytes]:
    """Run a command on a terminal of its own. -> its status, and what it wrote there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True, **options
    )
    os.close(theirs)
    output = b""
    with contextlib.suppress(OSError):  # EIO is how Linux says that the other side has closed
        while part := os.read(ours, 1 << 16):
            output += part
    os.close(ours)
    return process.wait(), output


@dataclass
class Ran:
    """A class of attacks that was graded."""

    world: World
    students: dict[str, Attack | None]  # None for an honest one
    status: int
    terminal: str
    changed: list[str]  # what is not as it was
    processes: list[int]
    signals: list[int]

    @functools.cached_property
    def summary(self) -> dict:
        return json.loads((self.world.out / "class.json").read_text(encoding="utf-8"))

    @functools.cached_property
    def rows(self) -> dict[str, dict]:
        return {row["student"]: row for row in self.summary["students"]}

    def report(self, student: str) -> dict:
        return json.loads((self.world.out / student / "report.json").read_text(encoding="utf-8"))


def hand_in(world: World, chosen: list[Attack]) -> dict[str, Attack | None]:
    """Hand in attacks, with an honest submission right after each that is run at all. -> by student."""
    students: dict[str, Attack | None] = {}
    for number, attack in enumerate(chosen):
        student, honest = f"{number:03}a-{attack.name}", f"{number:03}b-honest"
        attack.write(world.submissions, student, world.names)
        students[student] = attack
        if attack.status not in ((), ("unreadable",)):
            (world.submissions / f"{honest}.py").write_text(REFERENCE, encoding="utf-8")
            students[honest] = None
    return students


def run_class(world: World, students: dict[str, Attack | None], *python: str, **options: object) -> Ran:
    """Grade what was handed in, and look at what is left."""
    signals: list[int] = []
    before_handler = signal.signal(signal.SIGUSR1, lambda number, frame: signals.append(number))
    kept = [world.repo, world.submissions, world.marks, world.temporary]
    before = {path: state_of(path) for path in kept}
    try:
        with orphans() as processes:
            status, output = on_a_terminal(
                world.command(*python), cwd=world.repo, env=world.environment, **options
            )
    finally:
        signal.signal(signal.SIGUSR1, before_handler)
    changed = [f"{path}: {name}" for path in kept for name in differing(before[path], state_of(path))]
    changed += left_anywhere(world.token) + world.heard()
    return Ran(world, students, status, output.decode("utf-8", "replace"), changed, processes, signals)


@pytest.fixture(scope="module")
def bounds(tmp_path_factory) -> dict[str, float]:
    """What the wrong attention of attacks earns without them."""
    folder = tmp_path_factory.mktemp("bounds")
    earned = {}
    for wrong in WRONG:
        file = folder / f"{wrong}.py".replace(" ", "-")
        file.write_text(own_code(wrong), encoding="utf-8")
        earned[wrong] = grade(str(file), SEED, official=True).score
    return earned


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> Iterator[Ran]:
    world = World(tmp_path_factory.mktemp("attacks"))
    yield run_class(world, hand_in(world, ALL))
    world.close()


def bound_of(attack: Attack, bounds: dict[str, float]) -> float:
    """The most that an attack may earn."""
    if attack.at_most is not None:
        return attack.at_most
    return 0 if attack.text is not None else bounds[attack.wrong]


def test_the_corpus_has_every_kind_and_every_weakness():
    assert len(ALL) >= 75
    assert len({attack.name for attack in ALL}) == len(ALL)
    assert {attack.kind for attack in ALL} == {kind for kinds in KINDS.values() for kind in kinds}
    assert {attack.weakness for attack in ALL} - {None} == set(range(1, 13))


def test_what_is_wrong_earns_little(bounds):
    assert bounds["nothing"] == 0
    assert all(score < 95 for score in bounds.values()), bounds


def test_the_run_ends_well(ran):
    assert ran.status == 0, ran.terminal[-3000:]


def test_each_attack_has_a_result(ran):
    passed_over = [attack.name for attack in ran.students.values() if attack and not attack.status]
    assert len(ran.summary["passed_over"]) == len(passed_over)
    assert set(ran.rows) == {name for name, attack in ran.students.items() if not attack or attack.status}
    for student, row in ran.rows.items():
        assert row["score"] is not None, student


def test_each_attack_ends_as_foreseen(ran):
    """So that none of them is a dud: one that fails at its first line, say."""
    others = {
        student: (row["status"], row["message"])
        for student, row in ran.rows.items()
        if ran.students[student] and row["status"] not in ran.students[student].status
    }
    assert others == {}


def test_no_attack_earns_more_than_its_own_code(ran, bounds):
    gained = {
        student: (row["score"], bound_of(ran.students[student], bounds))
        for student, row in ran.rows.items()
        if ran.students[student] and row["score"] > bound_of(ran.students[student], bounds)
    }
    assert gained == {}


def test_honest_submissions_have_full_marks(ran):
    hurt = {
        s: ran.rows[s] for s, attack in ran.students.items() if not attack and ran.rows[s]["score"] != 100
    }
    assert hurt == {}


def test_nothing_is_left(ran):
    assert (ran.changed, ran.processes, ran.signals) == ([], [], [])


def test_only_results_are_among_the_results(ran):
    files = {str(path.relative_to(ran.world.out)) for path in ran.world.out.rglob("*") if not path.is_dir()}
    assert files == {
        *("class.json", "class.csv", "class.html", "canvas.csv", "moodle.csv", ".attention-class.json"),
        *(f"{student}/report.{kind}" for student in ran.rows for kind in ("html", "json")),
    }


def test_reports_are_sound(ran):
    checks = [check for check, _ in manifest.checks(True)]
    hidden = catalogue("en")["seen"]["hidden"]
    unreadable = catalogue("en")["source"]["meaning"]
    for student in ran.rows:
        report = ran.report(student)
        assert [check["id"] for check in report["checks"]] == [check.id for check in checks]
        assert report["isolation"] == "sandbox"
        assert report["score"] == pytest.approx(sum(tier["score"] for tier in report["tiers"]))
        for check in report["checks"]:
            assert check["outcome"] in OUTCOMES
            assert check["outcome"] != "grader_error", (student, check)
            message = check["message"] or ""
            assert (check["outcome"] == "passed") == (not message)
            assert printable(message), student
            assert len(message) < 2000
            if check["visibility"] == "hidden":
                assert not message or message.startswith(hidden) or message.endswith(unreadable)
                assert "INPUTS" not in message
                assert (check["error"], check["tolerance"], check["torch_error"]) == (None, None, None)
        for diagnosis in report["diagnoses"]:
            assert diagnosis["line"] is None or 1 <= diagnosis["line"] <= 100_000


def printable(text: str) -> bool:
    return not any(unicodedata.category(c)[0] == "C" for c in text)


def test_tables_are_sound(ran):
    with open(ran.world.out / "class.csv", encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert tuple(table[0]) == COLUMNS
    assert [line["student"] for line in table] == list(ran.rows)
    for line in table:
        assert len(line) == len(COLUMNS)
        for cell in line.values():
            assert printable(cell)
            assert not cell.startswith(("=", "+", "-", "@"))
    for line in ran.summary["passed_over"]:
        assert printable(line)


def test_no_text_of_a_students_reaches_the_terminal_raw(ran):
    shown = ESCAPES.sub("", ran.terminal)
    assert {c for c in shown if unicodedata.category(c)[0] == "C"} <= {"\r", "\n"}
    assert "\x1b[2J" not in ran.terminal
    assert "Traceback" not in ran.terminal
    assert "INPUTS" not in ran.terminal
    assert ran.world.secret not in ran.terminal


# --- they are attacks ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def open_world(tmp_path_factory) -> Iterator[World]:
    """Where nothing is locked."""
    world = World(tmp_path_factory.mktemp("open"))
    (world.submissions / "000b-honest.py").write_text(REFERENCE, encoding="utf-8")
    Results(world.out, SEED)
    yield world
    world.close()


def file_of(attack: Attack, world: World) -> str:
    attack.write(world.submissions, attack.name, world.names)
    file = world.submissions / f"{attack.name}.py"
    return str(file if file.exists() else world.submissions / attack.name / "attention.py")


@pytest.mark.parametrize("attack", [one for one in ALL if "local" in one.wins], ids=lambda one: one.name)
def test_wins_in_the_judges_own_process(open_world, bounds, attack):
    file = file_of(attack, open_world)
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.environ.update(open_world.environment)
            gc.unfreeze()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.write(writing, json.dumps(grade(file, SEED, official=True).score).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as stream:
        score = json.loads(stream.read())
    os.waitpid(pid, 0)
    assert score > bound_of(attack, bounds)


@pytest.fixture(scope="module")
def unlocked(open_world) -> Iterator[Launcher]:
    """A plain process, the child of one with a secret in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", open_world.environment["TMPDIR"])
        with Launcher(limits=LIMITS, without=UNLOCKED) as launcher:
            yield launcher


@pytest.mark.parametrize("attack", [one for one in ALL if "plain" in one.wins], ids=lambda one: one.name)
def test_wins_in_a_worker_that_is_not_locked_in(open_world, unlocked, bounds, attack):
    file = file_of(attack, open_world)
    before = state_of(open_world.marks)
    score = grade(file, SEED, functools.partial(WorkerSubmission, unlocked), True)
    if attack.name.endswith("-1"):
        return  # it leaves its word for the next one
    assert score.score > bound_of(attack, bounds) or state_of(open_world.marks) != before


# --- another user, and runs that are killed -----------------------------------------------------------------


def test_a_part_of_it_as_somebody_without_rights(tmp_path, bounds):
    """With the limits that are official."""
    with users("grader") as found:
        user = found["grader"]
        world = World(tmp_path, python=user.python)
        students = hand_in(world, [attack for attack in ALL if not attack.slow][::12])
        ids = pwd.getpwnam(user.name)
        for path in (world.folder, world.temporary, *world.folder.rglob("*")):
            if not path.is_relative_to(world.repo):
                os.chown(path, ids.pw_uid, ids.pw_gid, follow_symlinks=False)
        ran = run_class(world, students, "-m", "grader", user=user.name, group=user.name, extra_groups=[])
        test_the_run_ends_well(ran)
        test_each_attack_has_a_result(ran)
        test_each_attack_ends_as_foreseen(ran)
        test_no_attack_earns_more_than_its_own_code(ran, bounds)
        test_honest_submissions_have_full_marks(ran)
        test_nothing_is_left(ran)
        test_reports_are_sound(ran)
        world.close()


def results_of(out: Path) -> dict[str, str]:
    """All files of a run, without how long it took; and without what was never finished."""
    files = [path for path in out.rglob("*") if path.is_file() and not path.name.startswith(".report")]
    texts = {str(path.relative_to(out)): path.read_text(encoding="utf-8") for path in files}
    took = r'"duration_s": [0-9.]+|<dd>[0-9.]+ s</dd>'
    return {name: re.sub(took, "", text) for name, text in texts.items()}


def test_a_run_killed_at_ten_random_moments_ends_like_one_that_was_not(tmp_path):
    world = World(tmp_path)
    chosen = [attack for attack in ALL if attack.kind in ("heap", "paths", "markup") and not attack.slow]
    hand_in(world, chosen[:9])
    start = functools.partial(
        subprocess.Popen,
        cwd=world.repo,
        env=world.environment,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    whole = tmp_path / "whole"
    assert start(world.command(out=whole)).wait() == 0
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    killed = 0
    with orphans() as left:
        for _ in range(10):
            done = len(list(world.out.glob("*/report.json")))
            more = chance.choice((0, 1, 1, 2))  # 0: while it starts
            process = start(world.command(jobs=chance.choice((1, 2))))
            while len(list(world.out.glob("*/report.json"))) < done + more and process.poll() is None:
                time.sleep(0.005)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0, 0.3 if more else 3))
            killed += process.poll() is None
            if chance.random() < 0.5:
                process.kill()  # it alone: its judges must end by themselves
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert (left, seed) == ([], seed)
    assert killed >= 5, seed
    assert start(world.command()).wait() == 0
    assert results_of(world.out) == results_of(whole), seed
    world.close()


# --- faults of ours, which must cost nobody else ------------------------------------------------------------


def work_that_ends_the_judge(entry: Entry, folder: Path, seed: str, lang: str) -> str | None:
    """In the place of grade_entry: what the kernel does where memory is short."""
    if entry.student == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return grading.grade_entry(entry, folder, seed, lang)


def work_that_ends_the_launcher(entry: Entry, folder: Path, seed: str, lang: str) -> str | None:
    """In the place of grade_entry."""
    if entry.student == "poison":
        os.kill(grading._launcher._pid, signal.SIGKILL)
    return grading.grade_entry(entry, folder, seed, lang)


def graded_with(work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict, Results]:
    """A class of honest ones and a poison, graded with other work. -> problems by student, results."""
    folder = tmp_path / "class"
    folder.mkdir()
    for student in ("a", "b", "poison", "x", "y"):
        (folder / f"{student}.py").write_text(REFERENCE, encoding="utf-8")
    results = Results(tmp_path / "out", SEED)
    monkeypatch.setattr(grading, "grade_entry", work)
    found = grading.grade_class(find_submissions(folder)[0], results, 2, "sandbox", "en", LIMITS)
    return {entry.student: problem for entry, problem in found}, results


def test_a_judge_that_dies_costs_the_others_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "TRIES", 1)
    problems, results = graded_with(work_that_ends_the_judge, tmp_path, monkeypatch)
    assert set(problems) == {"a", "b", "poison", "x", "y"}
    assert "died" in problems.pop("poison")
    assert set(problems.values()) == {None}
    assert {results.read(student)["score"] for student in problems} == {100}


def test_a_launcher_that_dies_is_replaced(tmp_path, monkeypatch):
    problems, results = graded_with(work_that_ends_the_launcher, tmp_path, monkeypatch)
    assert set(problems.values()) == {None}
    assert {results.read(student)["score"] for student in problems} == {100}


def test_a_report_without_a_verdict_is_made_anew(tmp_path):
    results = Results(tmp_path, SEED)
    for score, finished in ((None, False), (0, True)):
        results.report("ann").write_text(json.dumps({"key": "k", "score": score}))
        assert results.finished("ann", "k") is finished


def test_the_lines_of_a_large_file_are_looked_for_once(tmp_path, monkeypatch):
    """And not at each check: walking the tree of a file at the limit takes most of a second."""
    walks = []
    walk = ast.walk
    monkeypatch.setattr(ast, "walk", lambda tree: walks.append(tree) or walk(tree))
    file = tmp_path / "many.py"
    file.write_text("a = 1;" * 33_000)
    assert grade(str(file), SEED, official=True).score == 0
    assert len(walks) == 1
