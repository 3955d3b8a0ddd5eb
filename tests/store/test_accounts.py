"""Accounts of runs: two runs that may execute something never share one."""

from __future__ import annotations

import os
import threading

import pytest
from django.db import IntegrityError, connections

from runtime.models import Run
from tests.kit import FINISH, submit, workspace
from tests.store.store_kit import a_run


@pytest.mark.usefixtures("both")
def test_the_database_refuses_an_account_that_a_run_still_may_use():
    first, second = a_run(), a_run()
    for state in ("planning", "running", "waiting", "failed"):
        Run.objects.filter(pk=first.pk).update(uid=5000, state=state)
        with pytest.raises(IntegrityError):
            Run.objects.filter(pk=second.pk).update(uid=5000)
    for state in ("succeeded", "cancelled"):
        Run.objects.filter(pk=first.pk).update(state=state)
        Run.objects.filter(pk=second.pk).update(uid=5000)
        Run.objects.filter(pk=second.pk).update(uid=None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only a server that runs as root hands out accounts")
def test_submissions_at_once_get_accounts_of_their_own(cast):
    workspace(cast.alice)
    found: list[Run] = []
    start = threading.Barrier(3)

    def one() -> None:
        start.wait()
        try:
            found.append(submit(cast.alice, [FINISH]).run)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({run.uid for run in found}) == 3 and None not in {run.uid for run in found}
