"""Bytes under their SHA-256, on disk. No table: who refers to them keeps the reference."""

from .store import BlobDamaged, BlobMissing, exists, get, path, put

__all__ = ["BlobDamaged", "BlobMissing", "exists", "get", "path", "put"]
