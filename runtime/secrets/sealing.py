"""Raw bytes that must survive a wait but never be read in the database: encrypted by a key file.

Fernet (AES-128-CBC with HMAC-SHA256) of the `cryptography` package; the key lies in the
data folder, mode 0600, and is made on first use.
"""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken

from runtime.core.errors import Unavailable

from .keys import key


def seal(data: bytes) -> bytes:
    """Encrypt bytes with the site's sealing key."""
    return Fernet(_key()).encrypt(data)


def open_sealed(sealed: bytes) -> bytes:
    """Decrypt what `seal` made. Raises `Unavailable` where the key is not the one of then."""
    try:
        return Fernet(_key()).decrypt(sealed)
    except InvalidToken:
        raise Unavailable(
            "A sealed action cannot be opened with keys/seal.",
            remedy="Restore the key file that was there when the action was proposed.",
        ) from None


def _key() -> bytes:
    return key("seal", Fernet.generate_key)
