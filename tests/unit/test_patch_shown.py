"""Patches for people: what they are about in one line, and everything that they do in full."""

from __future__ import annotations

import re

from runtime.present import actions, diffs
from tests.agent.test_patches import PATCH


def plain(html: object) -> str:
    return re.sub(r"<[^>]+>", "", str(html))


def test_the_sentence_names_the_files() -> None:
    body = {"patch": PATCH}
    assert plain(actions.sentence("apply_patch", body)) == (
        "apply a patch to a.txt, b.txt, old/name.txt and 6 more files"
    )
    short = {"patch": "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"}
    assert plain(actions.sentence("apply_patch", short)) == "apply a patch to run.sh"
    assert plain(actions.sentence("apply_patch", {"patch": "<b>"})) == "apply a patch"


def test_renames_deletions_new_files_and_rights_are_said() -> None:
    shown = plain(diffs.render(PATCH))
    assert "old/name.txt → fresh/name.txt" in shown
    assert "gone.txt removed" in shown and "made/tool.py new file, can be executed" in shown
    assert "run.sh can be executed" in shown
    undone = "diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n"
    assert "can no longer be executed" in plain(diffs.render(undone))


def test_the_whole_patch_is_there_as_it_was_proposed_also_where_it_is_none() -> None:
    for text in (PATCH, "diff --git a/x b/x\nodd line <script>\n", "--- a/x\n+++ b/x\n@@ nonsense"):
        whole = str(actions.whole("apply_patch", {"patch": text}))
        assert "<script>" not in whole
        assert all(line in plain(whole) for line in text.split("\n") if line.isalnum())
        assert "The patch as text" in whole
