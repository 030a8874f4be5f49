"""Between submissions: each of these listens for the one before it, wins if it hears, and leaves a word.

Each is handed in twice.
"""

from dataclasses import replace

from . import Attack

_CALL = """
import ctypes, os

_libc = ctypes.CDLL(None, use_errno=True)
_X86 = {"add_key": 248, "request_key": 249, "keyctl": 250, "shmget": 29, "shmctl": 31, "msgget": 68,
        "semget": 64, "mq_open": 240, "mq_unlink": 241, "msgctl": 71, "semctl": 66}
_ARM = {"add_key": 217, "request_key": 218, "keyctl": 219, "shmget": 194, "shmctl": 195, "msgget": 186,
        "semget": 190, "mq_open": 180, "mq_unlink": 181, "msgctl": 187, "semctl": 191}


def call(name, *args):
    number = (_ARM if os.uname().machine == "aarch64" else _X86)[name]
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _libc.syscall(ctypes.c_long(number), *wide)


_key = int.from_bytes(b"@TOKEN@"[-3:], "big")
"""


def _files(*folders: str) -> str:
    return f"""
import os

_paths = [os.path.expanduser(os.path.expandvars(folder)) + "/@TOKEN@" for folder in {list(folders)!r}]
if any(os.path.exists(path) for path in _paths):
    win()
    for path in _paths:
        try:
            os.unlink(path)
        except OSError:
            pass
else:
    for path in _paths:
        try:
            open(path, "x").close()
        except OSError:
            pass
"""


_ONCE = [
    Attack(
        "files-in-common-places",
        "between submissions",
        _files("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "@MARKS@", "@CLASS@", "@OUT@"),
        wins=("plain",),
    ),
    Attack("files-at-home", "between submissions", _files(".", "~", "~/.cache", "$TMPDIR", "/scratch")),
    Attack(
        "key-rings",
        "between submissions",
        _CALL
        + """
for ring in (-1, -2, -3, -4, -5):  # of the thread, process, session, user, user's session
    found = call("keyctl", 10, ring, b"user", b"@TOKEN@", 0)
    if found > 0:
        win()
        call("keyctl", 9, found, ring)
        break
else:
    call("add_key", b"user", b"@TOKEN@", b"heard", 5, -4)
""",
    ),
    Attack(
        "system-v",
        "between submissions",
        _CALL
        + """
found = call("shmget", _key, 16, 0)
if found >= 0:
    win()
    call("shmctl", found, 0, 0)
    call("msgctl", call("msgget", _key, 0), 0, 0)
    call("semctl", call("semget", _key, 1, 0), 0, 0, 0)
else:
    call("shmget", _key, 16, 0o1666)
    call("msgget", _key, 0o1666)
    call("semget", _key, 1, 0o1666)
""",
        wins=("plain",),
    ),
    Attack(
        "posix-queues",
        "between submissions",
        _CALL
        + """
if call("mq_open", b"@TOKEN@", 0, 0, 0) >= 0:
    win()
    call("mq_unlink", b"@TOKEN@")
else:
    call("mq_open", b"@TOKEN@", 0o102, 0o666, 0)
""",
        wins=("plain",),
    ),
    Attack(
        "what-the-launcher-has-loaded",
        "between submissions",
        """
import builtins, linecache, os, socket, sys

if any("heard" in place for place in (vars(builtins), vars(torch), sys.modules, linecache.cache)):
    win()
if socket.gethostname() == "heard" or os.nice(0) > 15 or "heard" in os.environ:
    win()
builtins.heard = torch.heard = os.environ["heard"] = sys.modules["heard"] = "heard"
linecache.cache["heard"] = "heard"
for action in (lambda: socket.sethostname("heard"), lambda: os.nice(5)):
    try:
        action()
    except OSError:
        pass
""",
        weakness=12,
    ),
]
ATTACKS = [
    replace(attack, name=f"{attack.name}-{number}", wrong="nothing", weakness=attack.weakness or 2)
    for attack in _ONCE
    for number in (1, 2)
]
