"""What the server and its broker say to each other, and why a command ended.

Part of the broker's process: standard library only.
"""

from __future__ import annotations

import struct

REPLY = struct.Struct("=iiqq")
"""Exit status or -1, reason, microseconds of CPU, bytes at the peak; a text follows."""
ENDED, TIMED_OUT, CANCELLED, OVER_MEMORY, OVER_WRITTEN, OVER_FILES, DISK_FULL, BROKEN = range(8)
"""Reasons."""
