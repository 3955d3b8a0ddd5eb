"""What is in a run's tree, however it was taken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from workspace_kit import BRANCH, Site, small_site

from runtime.core.commands import Shell
from runtime.core.errors import Refused
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage
from runtime.workspaces import usage
from runtime.workspaces.usage import Bounds


@pytest.fixture
def site() -> Iterator[Site]:
    made = small_site()
    yield made
    made.close()


def test_the_worktree_is_head_with_modes_and_links(site: Site) -> None:
    base = site.start()
    done = site.sh("cat src/a.py; ./run.sh; readlink link; git status --short; git log --oneline")
    assert done.text().startswith("a = 1\nsrc/a.py\n")
    assert "a commit" in done.text()
    point = site.take(base)
    assert (point.changed, point.commit) == (False, base)
    assert point.tree == site.git("rev-parse", "HEAD^{tree}")


def test_quick_and_caged_checkpoints_agree(site: Site) -> None:
    base = site.start()
    quick = site.edit("src/a.py", "a = 2\n", base)
    assert quick is not None and quick.changed
    new = site.edit("new/deep/c.py", "c\n", quick.commit)
    assert new is not None
    script = site.edit("run.sh", "#!/bin/sh\ntrue\n", new.commit)
    assert script is not None
    assert site.take(script.commit).tree == script.tree
    assert site.take(base).tree == script.tree
    assert site.files.changed_files(base, script.tree) == [
        ("A", "new/deep/c.py"), ("M", "run.sh"), ("M", "src/a.py"),
    ]  # fmt: skip
    assert site.files.numstat(base, script.tree) == (3, 3, 1)
    diff = site.files.diff(base, script.tree)
    assert "+c\n" in diff and "-a = 1\n+a = 2\n" in diff
    assert "run.sh" not in site.files.diff(base, script.tree, "src/a.py")


def test_quick_checkpoints_know_deletion_and_mode(site: Site) -> None:
    base = site.start()
    point = site.files.quick_checkpoint(
        base, [("src/a.py", None, 0o644), ("src/b.py", None, 0o644), ("run.sh", b"x", 0o644)]
    )
    assert point is not None
    site.sh("rm -r src; printf x > run.sh; chmod 644 run.sh")
    assert site.take(base).tree == point.tree


def test_commands_change_the_tree_only_with_what_git_would_take(site: Site) -> None:
    site.write(".gitignore", "*.log\nbuild/\n")
    site.commit()
    base = site.start()
    site.sh("echo x > a.log; mkdir build; echo x > build/out; mkfifo pipe")
    assert not site.take(base).changed
    site.sh("echo x > new.txt")
    assert site.files.changed_files(base, site.take(base).tree) == [("A", "new.txt")]


def test_A14_a_command_that_changes_a_tracked_file_changes_the_tree(site: Site) -> None:
    base = site.start()
    seen = site.files.survey().fingerprint
    site.sh("cat src/a.py; git status; true")
    assert not site.files.changed(seen)
    site.sh("printf 'a = 3\\n' > src/a.py")
    assert site.files.changed(seen)
    assert site.take(base).changed


def test_no_change_escapes_the_fingerprint(site: Site) -> None:
    site.start()
    for script in (
        "printf 'a = 2\\n' > src/a.py",  # same size
        "cp -p src/a.py x; printf 'a = 3\\n' > src/a.py; touch -r x src/a.py; rm x",
        "chmod +x src/a.py",
        "mv src/a.py src/c.py; mv src/b.py src/a.py; mv src/c.py src/b.py",
        "rm link; ln -s src/b.py link",
        "mkdir empty",
        "rm src/a.py",
        "echo x > .git",
        "mkdir closed; touch closed/x; chmod 0 closed",
        "chmod 700 closed; touch closed/y; chmod 0 closed",
    ):
        seen = site.files.survey().fingerprint
        assert seen == site.files.survey().fingerprint
        assert site.sh(script).ok
        assert site.files.changed(seen), script


def test_what_is_behind_a_closed_directory_does_not_count_as_nothing(site: Site) -> None:
    site.start()
    bounds = Bounds(tree_bytes=1 << 20)
    script = "mkdir closed; head -c 3000000 /dev/zero > closed/x; chmod {} closed"
    for mode in ("0", "444", "111"):
        assert site.sh(script.format(mode)).ok
        with pytest.raises(Refused) as told:
            usage.check(site.files.survey(), bounds)
        assert "closed" in told.value.message or "MiB" in told.value.message  # root reads it all
        assert site.sh("chmod 700 closed && rm -r closed").ok
        usage.check(site.files.survey(), bounds)


def test_A20_an_edit_of_an_ignored_file_is_no_part_of_the_tree(site: Site) -> None:
    site.write(".gitignore", "*.log\n")
    site.commit()
    base = site.start()
    assert site.edit("x.log", "ignored", base) is None
    assert not site.take(base).changed
    # A new file beside rules can only be judged by git; a tracked one is certain.
    assert site.edit("y.txt", "new", base) is None
    assert site.take(base).changed
    assert site.edit("src/a.py", "a = 2\n", base) is not None
    assert site.edit(".gitignore", "", base) is None


def test_what_was_added_while_it_was_not_ignored_stays(site: Site) -> None:
    base = site.start()
    point = site.edit("x.log", "kept", base)
    assert point is not None
    site.sh("echo '*.log' > .gitignore")
    after = site.take(point.commit)
    assert site.files.changed_files(base, after.tree) == [("A", ".gitignore"), ("A", "x.log")]


def test_A21_untracked_files_can_be_left_out_and_tracked_changes_cannot_hide(site: Site) -> None:
    base = site.start()
    site.sh("echo x > report.xml; mkdir out; echo y > 'out/a b'; echo z >> src/a.py")
    whole = site.take(base)
    changes = site.files.changed_files(base, whole.tree)
    assert changes == [("A", "out/a b"), ("A", "report.xml"), ("M", "src/a.py")]
    made = [path for letter, path in changes if letter == "A"]
    kept = site.take(base, *made)
    assert site.files.changed_files(base, kept.tree) == [("M", "src/a.py")]
    # They stay left out only as long as they are named.
    assert site.take(kept.commit).tree == whole.tree


def test_A24_a_nested_repository_is_refused_by_name(site: Site) -> None:
    base = site.start()
    for script, named in {
        "git init -q src/inner": "src/inner/.git",
        "mkdir -p x/.GIT": "x/.GIT",
        "echo gitdir: /tmp > src/.Git": "src/.Git",
        "ln -s /tmp src/.git": "src/.git",
        "rm .git; mkdir .git": " .git",
        "mkdir .giT": ".giT",
    }.items():
        assert site.sh(script).ok
        with pytest.raises(Refused, match="nested git repository") as caught:
            site.take(base)
        assert named in caught.value.message
        with pytest.raises(Refused, match="nested"):
            site.files.check_nested()
        assert site.files.repository.checkpoint() == base
        site.files.restore(site.cage, base)
    assert not site.take(base).changed


def test_A24_what_git_cannot_take_in_is_refused_by_name(site: Site) -> None:
    base = site.start()
    for script, named in {
        "chmod 0 src/a.py; touch src/a.py": "src/a.py",
        "mkdir closed; echo x > closed/x; chmod 0 closed": "closed",
        "rm src/a.py; mkfifo src/a.py": "src/a.py",
    }.items():
        site.sh(script)
        with pytest.raises(Refused, match=named):
            site.take(base)
        site.files.restore(site.cage, base)
        assert not site.take(base).changed


def test_restore_brings_files_back_and_keeps_what_there_was(site: Site) -> None:
    site.write(".gitignore", "*.log\n")
    site.commit()
    base = site.start()
    site.sh(
        "echo changed > src/a.py; rm src/b.py; echo new > new.txt; echo i > x.log;"
        " rm link; mkdir link; echo y > link/y"
    )
    patch = site.files.restore(site.cage, base)
    assert "+changed" in patch and "new.txt" in patch and "x.log" not in patch
    done = site.sh("cat src/a.py src/b.py x.log; readlink link; ls; git status --short")
    assert done.text() == "a = 1\nb = 1\ni\nsrc/a.py\nlink\nrun.sh\nsrc\nx.log\n"
    assert not site.take(base).changed
    assert site.files.restore(site.cage, base) == ""


def test_restore_copes_with_everything_a_command_can_leave_behind(site: Site) -> None:
    base = site.start()
    site.sh(
        "git init -q inner; rm .git; mkdir .git; echo x > .git/x; mkdir -p d/e; echo x > d/e/f;"
        " chmod 0 d/e; chmod 500 d; chmod 0 src/a.py; mkfifo src/pipe"
    )
    patch = site.files.restore(site.cage, base)
    assert "could not be kept" in patch
    assert site.sh("git status --short; ls").text() == "link\nrun.sh\nsrc\n"
    assert not site.take(base).changed


@pytest.mark.thorough
def test_directories_deeper_than_a_path_can_say_are_removed(site: Site) -> None:
    base = site.start()
    script = "import os\nfor _ in range(1500): os.mkdir('d' * 99); os.chdir('d' * 99)\n"
    assert site.sh(f'python3 -c "{script}os.chmod(os.curdir, 0)"').ok
    with pytest.raises(Refused, match="directories deep"):
        site.take(base)
    assert "could not be kept" in site.files.restore(site.cage, base)
    assert site.sh("git status --short; ls").text() == "link\nrun.sh\nsrc\n"
    fresh = site.files.fresh(base)
    with Cage(fresh.spec()) as cage:
        assert cage.run(by_operator(Shell(f'python3 -c "{script}"'), "test")).ok
    fresh.remove()
    assert not fresh.folder.exists()


def test_a_holder_that_wakes_up_late_clears_away_no_copy_but_its_own(site: Site) -> None:
    base = site.start()
    late, now = site.files.fresh(base, 3), site.files.fresh(base, 4)
    assert not late.folder.exists(), "what an earlier holder left is removed"
    with Cage(now.spec()) as cage:
        now.populate(cage, base)
        late.remove()
        assert site.files.fresh(base, 3).folder.exists()
        assert cage.run(by_operator(Shell("ls run.sh"), "test")).ok
    now.remove()
    assert now.folder.parent.exists(), "the other one is not there any more"
    late.remove()
    assert not now.folder.parent.exists()


def test_names_that_are_no_text_are_kept_and_left_out_like_others(site: Site) -> None:
    base = site.start()
    site.sh("printf x > \"$(printf 'caf\\351')\"; printf y > '\"q\"'; printf z > plain")
    changes = site.files.changed_files(base, site.take(base).tree)
    assert changes == [("A", '"\\x22q\\x22"'), ("A", '"caf\\xe9"'), ("A", "plain")]
    kept = site.take(base, *(path for _, path in changes[:2]))
    assert site.files.changed_files(base, kept.tree) == [("A", "plain")]


def test_what_git_holds_to_be_dangerous_is_refused_by_name(site: Site) -> None:
    base = site.start()
    site.sh("printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = -u./x\\n' > .gitmodules")
    with pytest.raises(Refused, match="gitmodules"):
        site.take(base)
    site.files.restore(site.cage, base)
    assert not site.take(base).changed


def test_a_commit_moves_the_branch_and_the_view_follows(site: Site) -> None:
    base = site.start()
    site.sh("echo new > new.txt")
    point = site.take(base)
    site.files.commit(point.tree, base, "A message\n\nwith a body", BRANCH)
    assert site.sh("git status --short; git log --format=%s -2").text() == "A message\na commit\n"
    site.files.refresh_index(site.cage)
    assert site.sh("git status --short; git log -1 --format=%b").text().strip() == "with a body"
    with pytest.raises(Refused, match="cannot be moved"):
        site.files.commit(point.tree, base, "again", BRANCH)


def test_a_fresh_worktree_holds_exactly_the_tree(site: Site) -> None:
    site.write(".gitignore", "*.log\n")
    site.commit()
    base = site.start()
    site.sh("echo x > ignored.log; echo new > new.txt; rm src/b.py; touch left-out")
    point = site.take(base, "left-out")
    fresh = site.files.fresh(point.tree)
    with Cage(fresh.spec()) as cage:
        fresh.populate(cage, point.tree)
        seen = cage.run(by_operator(Shell("pwd; find . -type f | sort; echo x > made"), "test"))
    assert seen.text() == (f"{site.root}\n./.git\n./.gitignore\n./new.txt\n./run.sh\n./src/a.py\n")
    fresh.remove()
    assert site.files.exists() and not fresh.exists()
    assert site.sh("ls made").status != 0


def test_many_checkpoints_are_one_chain_of_loose_objects(site: Site) -> None:
    base = commit = site.start()
    for number in range(60):
        point = site.edit("src/a.py", f"a = {number}\n", commit)
        assert point is not None
        commit = point.commit
    assert site.files.repository.checkpoint() == commit
    count = site.files.repository.text("rev-list", "--count", f"{base}..{commit}")
    assert count == "60"
    packs = list((site.files.repository.path / "objects" / "pack").glob("*.idx"))
    assert len(packs) <= 1
