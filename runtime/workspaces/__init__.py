"""Workspaces: the operator's directories, a run's worktree of one, and what may be done to it.

`registry` describes a directory that is to be registered, `space` owns the files of one run,
`editor` reads and edits them, `verbs` holds the fixed git commands, `sample` the bundled example.
"""

from .batch import Batch
from .checkpoints import Checkpoint
from .edit import Edit
from .editor import Editor
from .push import PushResult
from .registry import advice, prepare
from .sight import Sight
from .space import RunSpace

__all__ = [
    "Batch",
    "Checkpoint",
    "Edit",
    "Editor",
    "PushResult",
    "RunSpace",
    "Sight",
    "advice",
    "prepare",
]
