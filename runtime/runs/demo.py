"""The bundled example: a small repository with a failing test, and a scripted model."""

from __future__ import annotations

from django.conf import settings

from runtime.models import User, Workspace
from runtime.workspaces import sample

from .registering import register_workspace
from .submitting import Submission, Submitted, submit


def submit_demo(by: User, provider: str = "") -> Submitted:
    """Register the sample workspace once, and submit a run that works on it.

    With a `provider` that model does the work instead of the script.
    """
    root = sample.make(settings.M31A.DATA_DIR / "sample")
    if not Workspace.objects.filter(name=sample.NAME).exists():
        register_workspace(sample.NAME, str(root), by=by, verify=[sample.VERIFY])
    scripted = not provider
    return submit(
        Submission(
            workspace=sample.NAME,
            objective=sample.OBJECTIVE,
            by=by,
            provider="scripted:sample" if scripted else provider,
            script=sample.sample_script() if scripted else None,
            require_edit=True,
        )
    )
