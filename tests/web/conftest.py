"""The cast of the pages' tests: alice submits and reviews, sol is security, mallory has nothing."""

from __future__ import annotations

import pytest
from django.test import Client

from runtime.models import User, Workspace
from tests.web import factories

__all__ = ["alice", "bob", "mallory", "place", "sol"]


def signed_in(user: User) -> Client:
    """A browser in which this person is signed in, and which insists on CSRF tokens no more."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def alice(site: None) -> User:
    """Submits, and answers an ASK."""
    return factories.person("alice", "submitter", "reviewer")


@pytest.fixture
def bob(site: None) -> User:
    """Submits only: sees the own runs."""
    return factories.person("bob", "submitter")


@pytest.fixture
def sol(site: None) -> User:
    """Security: answers an ESCALATE, reads the audit."""
    return factories.person("sol", "security", "reviewer")


@pytest.fixture
def mallory(site: None) -> User:
    """Signed in, with no right at all."""
    return factories.person("mallory")


@pytest.fixture
def place(site: None) -> Workspace:
    """A registered workspace."""
    return factories.workspace()
