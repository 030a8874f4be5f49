"""Configuration, modules, plug-ins and bytecode beside a submission, and hooks within it."""

from . import Attack

_LOADED = "import os\nopen(os.path.join('@MARKS@', 'loaded-by-the-judge'), 'a').close()\n"
_WORSE = _LOADED + "import os\nos._exit(0)\n"
_MODULES = (
    "torch", "numpy", "random", "grader", "json", "ast", "rich", "typing", "attention", "sitecustomize",
    "usercustomize", "encodings", "multiprocessing", "pytest", "__init__", "__main__",
)  # fmt: skip

ATTACKS = [
    Attack(
        "conftest",
        "conftest",
        wrong="unmasked",
        beside={"conftest.py": _WORSE, "tests/conftest.py": _WORSE},
        weakness=1,
    ),
    Attack(
        "configuration",
        "configuration",
        wrong="heads",
        beside={
            name: f"[{section}]\naddopts = -p evil --collect-only\npythonpath = .\n"
            for name, section in {
                "pytest.ini": "pytest",
                "tox.ini": "pytest",
                "setup.cfg": "tool:pytest",
                ".coveragerc": "run",
            }.items()
        }
        | {
            "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p evil"\n',
            "evil.py": _WORSE,
            ".env": "PYTHONPATH=.\nPYTEST_ADDOPTS=-p evil\n",
            "pyvenv.cfg": "home = /nowhere\n",
            "python311._pth": ".\n",
        },
        weakness=1,
    ),
    Attack(
        "plug-in-by-entry-point",
        "plug-in",
        wrong="constant",
        beside={
            "evil.py": _WORSE,
            "evil-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1\n",
            "evil-1.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n[nbgrader]\nevil = evil\n",
            "evil.pth": "import evil\n",
            "evil.egg-link": ".\n",
        },
        weakness=1,
    ),
    Attack("shadow-modules", "shadow module", beside={f"{name}.py": _WORSE for name in _MODULES}, weakness=1),
    Attack(
        "bytecode",
        "bytecode",
        wrong="unmasked",
        beside={
            f"__pycache__/{name}.cpython-311{optimised}.pyc": b"\xa7\r\r\n" + bytes(12) + b"\xe3" * 100
            for name in ("attention", "conftest", "torch", "grader")
            for optimised in ("", ".opt-1", "-pytest-9.0.2")
        }
        | {
            "attention.pyc": b"\xa7\r\r\n" + bytes(12),
            "attention.cpython-311-x86_64-linux-gnu.so": b"\x7fELF",
        },
        weakness=1,
    ),
    Attack(
        "environment-set-from-within",
        "environment",
        """
import ctypes, os

for name in ("PYTEST_ADDOPTS", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "LD_PRELOAD", "PYTHONINSPECT"):
    os.environ[name] = "@MARKS@/evil.py"
    ctypes.CDLL(None).setenv(name.encode(), b"@MARKS@/evil.py", 1)
""",
        "nothing",
        weakness=9,
    ),
    Attack(
        "import-hooks",
        "import hook",
        """
import builtins, sys, types


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        win()
        raise SystemExit(0)


_import = builtins.__import__
for name in ("grader.judge.expect", "grader.run", "grader.reports.json_report", "pytest", "numpy"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__getattr__ = lambda attribute: lambda *args, **values: 100
sys.path_hooks.insert(0, lambda path: Finder)
builtins.__import__ = lambda name, *args, **values: (
    types.SimpleNamespace(score=100) if name.startswith("grader") else _import(name, *args, **values)
)
""",
        "nothing",
        status=("graded", "crashed"),
    ),
    Attack(
        "modules-replaced",
        "import hook",
        """
import sys

for name in list(sys.modules):
    if name.split(".")[0] in ("grader", "json", "struct", "os", "select"):
        sys.modules[name] = None
""",
        "nothing",
        status=("graded", "crashed"),
    ),
    Attack(
        "writes-into-the-repository",
        "overwrites the grader",
        """
import os

for name in ("grader/judge/expect.py", "solutions/attention.py", "grader/conftest.py", "pyproject.toml"):
    try:
        with open("@REPO@/" + name, "a") as file:
            file.write("# was here\\n")
        win()
    except OSError:
        pass
for name in ("sitecustomize.py", "grader/new.py", "conftest.py", ".git"):
    try:
        open("@REPO@/" + name, "w").close()
        win()
    except OSError:
        pass
""",
        "nothing",
        wins=("plain",),
    ),
    Attack(
        "writes-among-the-packages",
        "overwrites the grader",
        """
import os, sys

for path in (torch.__file__, os.__file__, sys.executable):
    try:
        open(path, "r+b").close()
        win()
    except OSError:
        pass
for folder in (os.path.dirname(torch.__file__), os.path.dirname(os.__file__), *sys.path):
    try:
        open(folder + "/@TOKEN@.pth", "x").close()
        os.unlink(folder + "/@TOKEN@.pth")
        win()
    except OSError:
        pass
""",
        "nothing",
    ),
    Attack(
        "modes-and-times-and-attributes",
        "overwrites the grader",
        """
import os

for action in (
    lambda: os.chmod("@MARKS@/target", 0o600),
    lambda: os.utime("@MARKS@/target", (1, 1)),
    lambda: os.setxattr("@MARKS@/target", "user.seen", b"1"),
    lambda: os.rename("@MARKS@/target", "@MARKS@/moved"),
    lambda: os.link("@MARKS@/target", "linked"),
    lambda: os.mkfifo("@MARKS@/pipe"),
):
    try:
        action()
        win()
    except OSError:
        pass
""",
        "nothing",
        wins=("plain",),
        weakness=3,
    ),
    Attack(
        "installs",
        "installs",
        """
import os, subprocess, sys

for command in (["pip", "install", "evil"], [sys.executable, "-c", "1"], ["/bin/sh", "-c", ":"]):
    try:
        subprocess.run(command, check=True, timeout=1, capture_output=True)
        win()
    except Exception:
        pass
if os.system("true") == 0:
    win()
try:
    import urllib.request
    urllib.request.urlopen("http://127.0.0.1:@TCP@/evil", timeout=1)
except Exception:
    pass
""",
        "nothing",
    ),
]
