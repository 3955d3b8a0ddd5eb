"""`grants`: answers that are remembered, and taking one back."""

from __future__ import annotations

import pytest

from tests.cli.conftest import M31A
from tests.kit import EDIT, FINISH, VERIFY

pytestmark = pytest.mark.thorough


def test_a_remembered_answer_is_listed_and_taken_back(m31a: M31A):
    waits = m31a.submit(EDIT, VERIFY, {"kind": "git_push"}, FINISH, more=("--wait",))
    assert m31a("grants").out == "No answer is remembered.\n"
    (asked,) = m31a("status", waits.json["run"], "--json").json["approvals"]
    assert m31a("approve", asked, "--scope", "run", "--as", "bob").code == 0
    (grant,) = m31a("grants", "list", "--json").json["grants"]
    assert (grant["approval"], grant["scope"], grant["by"]) == (asked, "run", "bob")
    assert grant["action"] == {"kind": "git_push"}
    assert grant["id"] in m31a("grants").out
    refused = m31a("grants", "revoke", grant["id"], "--as", "alice")
    assert refused.code == 1 and "may not revoke" in refused.err
    revoked = m31a("grants", "revoke", grant["id"], "--as", "bob", "--json")
    assert (revoked.code, revoked.json["revoked_by"]) == (0, "bob")
    assert m31a("grants", "--json").json == {"grants": []}
    assert m31a("grants", "revoke", "nothing").code == 2
