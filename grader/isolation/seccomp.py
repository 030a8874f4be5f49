"""A filter of system calls: a submission may compute, use its own files, and start threads. Nothing else.

A list of what is allowed, by number, in classic BPF. By hand and not by libseccomp: its Python binding
needs a C library that is not everywhere, and the filter is a page. Missing on purpose: sockets of every
kind, new processes and programs, other processes (ptrace, signals, limits, priority, affinity), key rings,
SysV and POSIX queues, shared memory and locks, anything that changes a file's mode, owner, times or
attributes, mounts and namespaces, bpf, perf, userfaultfd, io_uring, memfd (memory that no limit counts).
"""

import ctypes
import errno
import os
import platform
import struct

from grader.isolation.syscalls import prctl

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the table, AUDIT_ARCH_*

# name, number on x86_64, number on aarch64 ("-": has none)
_ALLOWED = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, open 2 -, openat 257 56,
creat 85 -, close 3 57, close_range 436 436, lseek 8 62, fstat 5 80, stat 4 -, lstat 6 -, newfstatat 262 79,
statx 332 291, statfs 137 43, fstatfs 138 44, access 21 -, faccessat 269 48, faccessat2 439 439,
getdents 78 -, getdents64 217 61, readlink 89 -, readlinkat 267 78, getcwd 79 17, chdir 80 49, fchdir 81 50,
umask 95 166, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, rename 82 -,
renameat 264 38, renameat2 316 276, symlink 88 -, symlinkat 266 36, truncate 76 45, ftruncate 77 46,
fallocate 285 47, fadvise64 221 223, fsync 74 82, fdatasync 75 83, sendfile 40 71, copy_file_range 326 285,
dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59, poll 7 -, ppoll 271 73, select 23 -,
pselect6 270 72, eventfd2 290 19, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
epoll_pwait 281 22, brk 12 214, mmap 9 222, munmap 11 215, mremap 25 216, mprotect 10 226,
madvise 28 233, msync 26 227,
membarrier 324 283, get_mempolicy 239 236,
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169,
time 201 -, times 100 153, getrusage 98 165, getitimer 36 102, setitimer 38 103, alarm 37 -, pause 34 -,
exit 60 93, exit_group 231 94, futex 202 98, set_robust_list 273 99, get_robust_list 274 100,
set_tid_address 218 96, rseq 334 293, sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121,
sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126, getcpu 309 168,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136,
rt_sigsuspend 130 133, rt_sigtimedwait 128 137, sigaltstack 131 132, restart_syscall 219 128,
getpid 39 172, getppid 110 173, gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176,
getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158, getpgid 121 155, getpgrp 111 -,
getsid 124 156, capget 125 90, uname 63 160, sysinfo 99 179, getrlimit 97 163, setrlimit 160 164,
getrandom 318 278, arch_prctl 158 -
"""
# ... and for these it depends on an argument: see _conditions
_CONDITIONAL = """
clone 56 220, kill 62 129, tgkill 234 131, prlimit64 302 261, prctl 157 167, fcntl 72 25, ioctl 16 29
"""
# From here on all architectures have the same numbers, and libraries fall back if a call is unknown: clone3
# has its flags in memory, where a filter cannot look, and glibc then uses clone.
_COMMON = 424

_CLONE_THREAD = 0x10000
_PRCTL_NAME = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA (malloc names its memory)
_FCNTL_DESCRIPTORS = (
    0,
    1,
    2,
    3,
    4,
    1030,
    1032,
)  # F_DUPFD to F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ; no locks
_IOCTL_QUERIES = (
    0x5401,
    0x5413,
    0x541B,
    0x5421,
    0x5450,
    0x5451,
)  # TCGETS .. FIONREAD, FIONBIO, close on exec

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|..|K
_NUMBER_AT, _ARCH_AT, _FIRST_ARG_AT, _SECOND_ARG_AT = 0, 4, 16, 24  # in struct seccomp_data, little endian
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def numbers(table: str, column: int) -> dict[str, int]:
    """Name -> number of the calls in a table above that an architecture has."""
    rows = (row.split() for row in table.replace("\n", " ").split(",") if row.strip())
    return {name: int(values[column]) for name, *values in rows if values[column] != "-"}


def program(column: int, audit_arch: int, pid: int) -> bytes:
    """The filter for a process, as an array of struct sock_filter."""
    code = [
        _step(_LOAD, _ARCH_AT),
        _step(_EQUAL, audit_arch, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
    ]
    # x32 calls on x86_64 have bit 30 set: no number in the list does, so they fail with the rest
    for number in numbers(_ALLOWED, column).values():
        code += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ALLOW)]
    conditional = numbers(_CONDITIONAL, column)
    for name, (at, how, values, error) in _conditions(pid).items():
        tests = [step for v in values for step in (_step(how, v, 0, 1), _step(_RETURN, _ALLOW))]
        body = [_step(_LOAD, at), *tests, _step(_RETURN, _ERRNO | error)]
        code += [_step(_EQUAL, conditional[name], 0, len(body)), *body]
    code += [
        _step(_AT_LEAST, _COMMON, 0, 1),
        _step(_RETURN, _ERRNO | errno.ENOSYS),
        _step(_RETURN, _ERRNO | errno.EPERM),
    ]
    return b"".join(code)


def _conditions(pid: int) -> dict[str, tuple[int, int, tuple[int, ...], int]]:
    """Name -> which argument, how it is compared, with what (any of), the error if none matches."""
    return {
        "clone": (_FIRST_ARG_AT, _ANY_BIT, (_CLONE_THREAD,), errno.EPERM),
        "kill": (_FIRST_ARG_AT, _EQUAL, (pid,), errno.EPERM),
        "tgkill": (_FIRST_ARG_AT, _EQUAL, (pid,), errno.EPERM),
        "prlimit64": (_FIRST_ARG_AT, _EQUAL, (0, pid), errno.EPERM),
        "prctl": (_FIRST_ARG_AT, _EQUAL, _PRCTL_NAME, errno.EPERM),
        "fcntl": (_SECOND_ARG_AT, _EQUAL, _FCNTL_DESCRIPTORS, errno.EPERM),
        "ioctl": (_SECOND_ARG_AT, _EQUAL, _IOCTL_QUERIES, errno.ENOTTY),
    }


def _step(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, k)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def restrict() -> None:
    """Filter the calls of this process from now on, for good; needs no_new_privs. OSError if it cannot be."""
    if platform.machine() not in _ARCHITECTURES or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError(errno.ENOSYS, f"no filter for {platform.machine()}")
    code = program(*_ARCHITECTURES[platform.machine()], os.getpid())
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _Program(len(code) // 8, ctypes.addressof(buffer))
    prctl("seccomp", _PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(filter_))
