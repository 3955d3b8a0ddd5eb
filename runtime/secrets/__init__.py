"""What must never be written: known values and token shapes, and the sealed store of raw actions."""

from .keyring import stored as stored_keys
from .keys import key
from .redaction import Redactor, redactor
from .sealing import open_sealed, seal

__all__ = ["Redactor", "key", "open_sealed", "redactor", "seal", "stored_keys"]
