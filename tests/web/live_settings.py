"""The product's settings with the addresses and the bounds of sockets that a test asks for."""

from __future__ import annotations

import os

from m31a_site import settings

globals().update({name: getattr(settings, name) for name in dir(settings) if name.isupper()})

ROOT_URLCONF = os.environ["TEST_URLS"]
for _name, _value in os.environ.items():
    if _name.startswith("LIVE_"):
        globals()[_name] = float(_value) if "SECONDS" in _name else int(float(_value))
