"""People: who they are, which roles they have, and the links by which they sign in."""

from .rights import ROLES

__all__ = ["ROLES"]
