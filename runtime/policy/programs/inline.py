"""Inline Python, read for courtesy: what plainly computes and prints need not wait for a person.

This is no boundary: the cage is. In doubt a person looks.
"""

from __future__ import annotations

import ast

from ..words import listed

MAX_INLINE = 8192
_RISKY_MODULES = frozenset(
    listed(
        """
        os posix nt subprocess shutil socket ssl ctypes pty signal multiprocessing threading
        asyncio urllib http requests httpx aiohttp ftplib smtplib telnetlib poplib imaplib xmlrpc
        socketserver importlib runpy code codeop pdb pickle marshal shelve dbm sqlite3 tempfile
        pathlib glob fileinput webbrowser builtins gc inspect sys resource mmap fcntl termios tty
        pwd grp crypt zipimport zipfile tarfile venv ensurepip pip site sitecustomize concurrent
        _posixsubprocess _thread paramiko fabric docker boto3 psutil pexpect sh plumbum io _io
        codecs logging sched timeit trace profile cProfile bdb ast dis types operator platform
        """
    )
)
_RISKY_NAMES = frozenset(
    listed(
        """
        exec eval compile open __import__ getattr setattr delattr globals locals vars breakpoint
        input exit quit memoryview __builtins__ __loader__ __spec__
        """
    )
)
_PLAIN_DUNDERS = frozenset(listed("__version__ __name__ __doc__ __file__"))


def judge_python(code: str) -> str:
    """ "" where the code plainly computes and prints; else why a person should look."""
    if not code.strip():
        return "there is no code to read"
    if len(code) > MAX_INLINE:
        return "the inline code is too long to be read"
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "the inline code cannot be read as Python"
    for node in ast.walk(tree):
        why = _judge(node)
        if why:
            return why
    return ""


def _judge(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        return _modules(*(alias.name for alias in node.names))
    if isinstance(node, ast.ImportFrom):
        return _modules(node.module or "")
    if isinstance(node, ast.Name) and node.id in _RISKY_NAMES:
        return f"the inline code uses {node.id}"
    if isinstance(node, ast.Attribute) and (
        (node.attr.startswith("__") and node.attr not in _PLAIN_DUNDERS)
        or node.attr in ("system", "popen", "modules", "gi_frame")
    ):
        return f"the inline code reaches for {node.attr}"
    if isinstance(node, ast.Attribute) and node.attr in ("os", "sys", "subprocess", "builtins"):
        return f"the inline code reaches for {node.attr}"
    return ""


def _modules(*names: str) -> str:
    for name in names:
        if name.partition(".")[0] in _RISKY_MODULES:
            return f"the inline code imports {name}"
    return ""
