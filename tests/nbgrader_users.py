"""Real users of this machine, for tests of what one may do to another; and a Python that they can run."""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nbgrader_course import run


@dataclass(frozen=True)
class User:
    """A user with a home of his own, that nobody else can look into."""

    name: str
    home: Path
    python: str

    def run(
        self, *words: str, cwd: Path | None = None, status: int | None = 0
    ) -> subprocess.CompletedProcess:
        """Run `python WORDS` as this user."""
        command = [self.python, *words]
        return run(command, cwd or self.home, status, user=self.name, HOME=str(self.home), USER=self.name)


@contextlib.contextmanager
def users(*names: str) -> Iterator[dict[str, User]]:
    """Users that are gone afterwards. Fails in CI where it cannot be done, and skips elsewhere."""
    if os.geteuid() != 0 or not shutil.which("useradd"):
        reason = "needs root and useradd: it makes real users"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    top = Path(tempfile.mkdtemp(prefix="attention-users-"))
    top.chmod(0o755)
    made = []
    try:
        found = {}
        for name in names:
            login = f"att-{name}-{secrets.token_hex(2)}"
            home = top / login
            subprocess.run(["useradd", "--no-create-home", "--user-group", "-d", home, login], check=True)
            made.append(login)
            home.mkdir(mode=0o700)
            shutil.chown(home, login, login)
            found[name] = User(login, home, "")
        python = _python_for(found[names[0]], top)
        yield {name: User(user.name, user.home, python) for name, user in found.items()}
    finally:
        for login in made:
            subprocess.run(["userdel", "--force", login], check=True, stderr=subprocess.DEVNULL)
        shutil.rmtree(top)


def _python_for(user: User, folder: Path) -> str:
    """Our own Python if the user can run it, else the system's with our packages: ours may lie in /root."""
    ask = ["-c", "import torch, nbgrader"]
    if _can_run(user, [sys.executable, *ask]):
        return sys.executable
    system, environment = "/usr/bin/python3", folder / "python"
    subprocess.run([system, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    packages = next(environment.glob("lib/*/site-packages"))
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (environment / "share").symlink_to(Path(sys.prefix) / "share")  # nbconvert's templates
    alembic = environment / "bin" / "alembic"  # nbgrader starts it by its name
    alembic.write_text(f"#!{python}\nfrom alembic.config import main\nmain(prog='alembic')\n")
    alembic.chmod(0o755)
    if not _can_run(user, [str(python), *ask]):
        pytest.fail(
            f"no Python that another user can run: {sys.executable} and its packages are closed to others, "
            f"or {system} is of another version. Make the environment of the tests outside /root."
        )
    return str(python)


def _can_run(user: User, command: list[str]) -> bool:
    try:
        return run(command, user.home, None, user=user.name).returncode == 0
    except OSError:
        return False
