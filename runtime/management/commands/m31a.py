"""`manage.py m31a ...` where Django's own command line is used: the same as the program `m31a`."""

from __future__ import annotations

import sys

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Passes everything on."""

    help = "Run a command of M31A."
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Leave all parsing to the command line itself."""
        from m31a_site import console

        sys.exit(console.main(argv[2:]))
