"""What the filter refuses besides, where no namespace stands between a command and the machine.

Without them a command shares with all others: the network stack, System V memory and queues, the
processes that may be looked at and slowed down. Landlock says nothing about these.
"""

from __future__ import annotations

_COMMON = {"process_madvise": 440, "process_mrelease": 448}
NUMBERS = {
    "x86_64": _COMMON | {
        "connect": 42, "accept": 43, "bind": 49, "listen": 50, "accept4": 288, "socketpair": 53,
        "prlimit64": 302, "setpriority": 141, "ioprio_set": 251, "sched_setparam": 142,
        "sched_setscheduler": 144, "sched_setaffinity": 203, "sched_setattr": 314,
        "migrate_pages": 256, "move_pages": 279, "shmat": 30, "shmctl": 31, "shmdt": 67,
        "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220, "msgget": 68, "msgsnd": 69,
        "msgrcv": 70, "msgctl": 71, "mq_open": 240, "mq_unlink": 241, "inotify_init": 253,
        "inotify_init1": 294, "inotify_add_watch": 254,
    },
    "aarch64": _COMMON | {
        "connect": 203, "accept": 202, "bind": 200, "listen": 201, "accept4": 242,
        "socketpair": 199, "prlimit64": 261, "setpriority": 140, "ioprio_set": 30,
        "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122,
        "sched_setattr": 274, "migrate_pages": 238, "move_pages": 239, "shmat": 196,
        "shmctl": 195, "shmdt": 197, "semget": 190, "semop": 193, "semctl": 191,
        "semtimedop": 192, "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187,
        "mq_open": 180, "mq_unlink": 181, "inotify_init1": 26, "inotify_add_watch": 27,
    },
}  # fmt: skip
"""Numbers by processor."""

ABSENT = ("inotify_init", "inotify_init1", "inotify_add_watch")
"""Watching shows names of files that may not be read; programs then look again and again."""

ONLY_ITSELF = ("prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity",
               "sched_setattr")  # fmt: skip
"""Their first argument names a process; 0 is the caller."""
