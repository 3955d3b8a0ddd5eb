"""Inline Python, read for courtesy: what plainly computes and prints need not wait for a person.

This is no boundary: the cage is. In doubt a person looks. Of the standard library the modules
that only compute are listed; whatever else comes with Python is looked at. Modules of the project
are its own code, as its scripts are.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ..words import listed

MAX_INLINE = 8192
_COMPUTING = frozenset(
    listed(
        """
        __future__ abc array ast base64 binascii bisect calendar cmath collections colorsys copy
        csv dataclasses datetime decimal difflib enum errno fractions functools graphlib hashlib
        heapq hmac html ipaddress itertools json keyword locale math numbers platform pprint
        random re secrets statistics string struct textwrap time token tomllib unicodedata uuid zlib
        zoneinfo
        """
    )
)
"""Modules of the standard library that only compute."""
_REACHING = frozenset(
    listed(
        """
        requests httpx aiohttp httplib2 urllib3 pycurl websocket websockets tornado twisted scapy
        dns paramiko fabric invoke docker boto3 botocore s3fs fsspec smart_open google azure
        psutil pexpect sh plumbum git dulwich pygit2 cffi dill cloudpickle joblib pip setuptools
        pkg_resources openai anthropic selenium playwright IPython
        """
    )
)
"""Packages that are there to reach the system or other hosts."""
_RISKY_NAMES = frozenset(
    listed(
        """
        exec eval compile open __import__ getattr setattr delattr globals locals vars breakpoint
        input memoryview help license credits copyright __builtins__ __loader__ __spec__
        """
    )
)
_RISKY_ATTRIBUTES = (
    frozenset(sys.stdlib_module_names)
    - _COMPUTING
    - frozenset(listed("test code select queue cmd site profile symbol token statistics operator"))
) | frozenset(
    listed(
        """
        sys os builtins bltns exec eval open system popen spawn modules gi_frame cr_frame
        get_field Formatter attrgetter methodcaller get_type_hints unsafe_load UnsafeLoader
        Loader full_load read_pickle loads_pickle ctypeslib call_command
        """
    )
)
"""Attributes through which a module gives away another one, or runs what it is given."""
_PLAIN_DUNDERS = frozenset(listed("__version__ __name__ __doc__ __file__ __all__"))
_OF_SYS = frozenset(
    listed(
        """
        version version_info path executable argv platform maxsize byteorder prefix base_prefix
        implementation getsizeof getrecursionlimit hexversion float_info int_info exit
        """
    )
)
_ELSEWHERE = re.compile(r"\s*(~|/[A-Za-z~.]|\.\.(/|$))|[A-Za-z][A-Za-z0-9+.-]*://")
"""Text that names a place outside the worktree, or another host."""


@dataclass(frozen=True, slots=True)
class Inline:
    """`why`: "" where the code plainly computes and prints. `reads`: files that it opens."""

    why: str
    reads: tuple[str, ...] = ()


def judge_python(code: str) -> Inline:
    """What is to be said about inline code before it runs."""
    if not code.strip():
        return Inline("there is no code to read")
    if len(code) > MAX_INLINE:
        return Inline("the inline code is too long to be read")
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Inline("the inline code cannot be read as Python")
    opened = dict(_opened(tree))
    known = {id(name) for name in opened} | _of_sys(tree)
    foreign = _foreign(tree)
    for node in ast.walk(tree):
        if id(node) in known:
            continue
        why = _judge(node)
        if not why and foreign and _names_elsewhere(node):
            why = f"the inline code uses {foreign} and names a place outside the worktree"
        if why:
            return Inline(why)
    return Inline("", tuple(opened.values()))


def _opened(tree: ast.AST) -> Iterator[tuple[ast.Name, str]]:
    """Each `open("plain/name")` that reads: its name `open`, and the file."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        words = [one.value for one in node.args if isinstance(one, ast.Constant)]
        plain = len(words) == len(node.args) and all(one.arg == "encoding" for one in node.keywords)
        if node.func.id == "open" and plain and 1 <= len(words) <= 2:
            path, how = words[0], words[1] if len(words) > 1 else "r"
            if isinstance(path, str) and how in ("r", "rt", "rb"):
                yield node.func, path


def _of_sys(tree: ast.AST) -> set[int]:
    """The nodes of `sys.version` and its kin."""
    known: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and (node.value.id, node.attr in _OF_SYS) == ("sys", True)
        ):
            known |= {id(node), id(node.value)}
    return known


def _foreign(tree: ast.AST) -> str:
    """The first module that does not come with Python."""
    for node in ast.walk(tree):
        for name in _imported(node):
            if name.partition(".")[0] not in sys.stdlib_module_names:
                return name
    return ""


def _names_elsewhere(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _ELSEWHERE.match(node.value) is not None
    )


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        # Under its own name, each use of `sys` is looked at instead.
        return [one.name for one in node.names if one.name != "sys" or one.asname]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "."]
    return []


def _judge(node: ast.AST) -> str:
    for name in _imported(node):
        top = name.partition(".")[0]
        known = top in _COMPUTING or (
            top not in sys.stdlib_module_names and top not in _REACHING and not top.startswith("_")
        )
        if not known and name != "importlib.metadata":
            return f"the inline code imports {name}"
    if isinstance(node, ast.ImportFrom) and any(_risky(one.name) for one in node.names):
        return f"the inline code takes a part of {node.module} that it should not need"
    if isinstance(node, ast.Name) and (node.id in _RISKY_NAMES or node.id == "sys"):
        return f"the inline code uses {node.id}"
    if isinstance(node, ast.MatchClass) and any(map(_risky, node.kwd_attrs)):
        return "the inline code reaches into what it matches"
    if isinstance(node, ast.Attribute) and _risky(node.attr):
        return f"the inline code reaches for {node.attr}"
    return ""


def _risky(attribute: str) -> bool:
    if attribute.startswith("_"):
        return attribute not in _PLAIN_DUNDERS
    return attribute in _RISKY_ATTRIBUTES
