"""Places where a process can be made to die, stop or fail, so that tests can do it there.

Part of the product, off by default: `hit` is then one look at an empty dictionary.
"""

from .plan import POINTS, Injected, commit, hit

__all__ = ["POINTS", "Injected", "commit", "hit"]
