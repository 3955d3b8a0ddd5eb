"""What the server and its broker say to each other, and why a command ended.

Part of the broker's process: standard library only.
"""

from __future__ import annotations

import struct

REPLY = struct.Struct("=iiqq?")
"""Exit status or -1, reason, microseconds of CPU, bytes at the peak, whether it ran where others
had run before; a text follows."""
REQUEST_BYTES = 1 << 19
"""The largest command with its environment, from the server to the broker and on from there."""
LISTENER = b"listener"
"""Comes with a descriptor, before the reply and shorter than one: the proxy's socket in the cage."""
PROXY_PORT = 3128
"""Where a command finds its proxy, on its own loopback device."""
(ENDED, TIMED_OUT, CANCELLED, OVER_MEMORY, OVER_WRITTEN, OVER_FILES, DISK_FULL, BROKEN,
 OVER_CPU, OVER_OUTPUT, AT_PROCESSES, AT_OPEN_FILES) = range(12)  # fmt: skip
"""Reasons. The last two: it ended by itself, and was seen at a bound that the kernel holds."""
