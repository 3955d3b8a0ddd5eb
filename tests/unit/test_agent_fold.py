"""The agent's state as a fold, and the step that follows from it, without any process."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agent import machine
from runtime.agent.preparing import refuse_finish
from runtime.agent.state import MAX_TURNS, State, apply, fold

TASK = "t1"
BASE, ONE, TWO = "base-tree", "tree-1", "tree-2"


class Story:
    """Events as they would be journaled, told in few words."""

    def __init__(self, **more: Any) -> None:
        submitted = {
            "objective": "o",
            "workspace": "w",
            "provider": "scripted:x",
            "mode": "assisted",
            "require_edit": False,
            "max_steps": 5,
            "verification": [["true"]],
            "base": "c0",
            "tree": BASE,
            "tasks": [
                {"task": TASK, "key": "main", "kind": "implementation", "role": "implementer"}
            ],
            **more,
        }
        self.events: list[tuple[str, str | None, dict[str, Any]]] = [
            ("run.submitted", None, submitted)
        ]
        self.step = 0

    def tell(self, type_: str, **payload: Any) -> Story:
        self.events.append((type_, TASK, payload))
        return self

    @property
    def action(self) -> str:
        return f"{TASK}.{self.step}"

    def propose(self, kind: str, **body: Any) -> Story:
        self.step += 1
        self.tell("message.completed", message=f"m{self.step}", step=self.step, text="say")
        body = {"kind": kind, **body}
        return self.tell(
            "action.proposed", action=self.action, kind=kind, step=self.step, body=body
        )

    def start(self, **more: Any) -> Story:
        kind = self.events[-1][2]["kind"]
        return self.tell("action.started", action=self.action, kind=kind, **more)

    def complete(self, kind: str, ok: bool = True) -> Story:
        return self.tell(
            "action.completed", action=self.action, kind=kind, ok=ok, observation="seen"
        )

    def tree(self, tree: str, *files: str) -> Story:
        commit = f"commit of {tree}"
        return self.tell(
            "checkpoint.created", tree=tree, commit=commit, action=self.action, files=list(files)
        )

    def edit(self, tree: str, path: str = "a") -> Story:
        self.propose("write_file", path=path, content="x").start(path=path)
        return self.complete("write_file").tree(tree, path)

    def verify(self, tree: str, passed: bool = True, left_out: tuple[str, ...] = ()) -> Story:
        self.propose("verify").start().complete("verify", ok=passed)
        ended = "verification.passed" if passed else "verification.failed"
        reason = {} if passed else {"reason": "r"}
        facts = {"action": self.action, "tree": tree, "commands": [], "left_out": list(left_out)}
        return self.tell(ended, **facts, **reason)

    @property
    def state(self) -> State:
        return fold(TASK, self.events)


def _finish(story: Story) -> tuple[str, bool] | None:
    return refuse_finish(story.state)


def test_A1_a_run_that_changes_nothing_has_no_debt_and_may_finish():
    story = Story().propose("run_tool", program="ls").start().complete("run_tool")
    assert not story.state.debt
    assert not story.state.changed
    assert _finish(story) is None


def test_A2_a_verification_of_the_tree_closes_the_debt_of_an_edit():
    story = Story().edit(ONE)
    assert story.state.debt
    assert story.verify(ONE).state.debt is False
    assert _finish(story) is None


def test_A3_a_tool_with_the_very_same_command_closes_nothing():
    story = Story().edit(ONE).propose("run_tool", program="true").start().complete("run_tool")
    refused = _finish(story)
    assert refused is not None
    assert refused[1] is True


def test_A4_without_a_verification_the_debt_of_an_edit_cannot_close():
    refused = _finish(Story(verification=[]).edit(ONE))
    assert refused is not None
    assert "no verification is configured" in refused[0]


def test_A5_an_edit_after_the_verification_opens_the_debt_again():
    story = Story().edit(ONE).verify(ONE).edit(TWO)
    assert _finish(story) is not None
    assert _finish(story.verify(TWO)) is None


@pytest.mark.parametrize("ended", ["failed", "unknown"])
def test_A6_A7_only_a_pass_closes_the_debt(ended):
    story = Story().edit(ONE)
    if ended == "failed":
        story.verify(ONE, passed=False)
    else:
        story.propose("verify").start()
        story.tell("action.outcome_unknown", action=story.action, kind="verify", reason="died")
    assert story.state.debt
    assert _finish(story) is not None


def test_A12_a_run_that_needs_an_edit_does_not_finish_before_something_changed():
    story = Story(require_edit=True)
    assert _finish(story) == ("This run needs a change, and nothing has changed yet.", False)
    assert _finish(story.edit(ONE).verify(ONE)) is None
    assert _finish(story.edit(BASE).verify(BASE)) is not None


def test_A14_a_command_that_changes_the_tree_opens_the_debt():
    story = Story().edit(ONE).verify(ONE)
    story.propose("run_tool", program="sed").start().complete("run_tool").tree(TWO, "a")
    assert story.state.debt
    assert not story.tree(ONE, "a").state.debt


def test_A19_an_edit_that_restores_the_verified_tree_opens_the_debt_all_the_same():
    story = Story().edit(ONE).verify(ONE).edit(TWO).edit(ONE)
    assert story.state.tree == story.state.verified_tree
    assert story.state.debt


def test_A20_an_edit_that_no_tree_shows_opens_the_debt():
    story = Story().edit(ONE).verify(ONE)
    story.propose("write_file", path="ignored", content="x").start().complete("write_file")
    assert story.state.tree == ONE
    assert story.state.debt


def test_an_edit_that_failed_opens_no_debt_and_one_of_unknown_outcome_does():
    story = Story().propose("replace_text", path="a", expected="x", replacement="y")
    assert not story.complete("replace_text", ok=False).state.debt
    story.propose("write_file", path="a", content="x").start(path="a")
    story.tell("action.outcome_unknown", action=story.action, kind="write_file", reason="died")
    assert story.state.debt


def test_A21_new_files_of_a_verification_are_left_out_until_somebody_else_touches_them():
    story = Story().edit(ONE).verify(ONE, left_out=("made", "report"))
    assert story.state.left_out == {"made", "report"}
    assert not story.state.debt
    assert story.edit(TWO, "made").state.left_out == {"report"}


def test_A21_a_tree_that_the_verification_changed_keeps_the_debt():
    story = Story().edit(ONE).verify(ONE, passed=False).tree(TWO, "a")
    assert story.state.debt
    story = Story().edit(ONE).verify(ONE).tree(TWO, "a")
    assert story.state.debt


def test_the_pass_is_bound_to_its_tree():
    assert Story().edit(TWO).verify(ONE).state.debt


def test_a_fresh_proof_before_delivery_changes_nothing_else():
    story = Story().edit(ONE).verify(ONE)
    before = story.state
    facts = {"action": "x", "tree": ONE, "commands": [], "left_out": []}
    after = story.tell("verification.passed", **facts).state
    assert (after.debt, after.tree, after.turns) == (before.debt, before.tree, before.turns)


def test_events_of_another_task_are_not_folded():
    story = Story()
    story.events.append(("checkpoint.created", "t2", {"tree": TWO, "commit": "c", "files": []}))
    assert story.state.tree == BASE


def test_turns_keep_what_was_said_wanted_and_seen():
    story = Story().propose("read_file", path="a").start().complete("read_file")
    story.tell("message.completed", message="m", step=2, text="hm")
    story.tell("answer.refused", step=2, reason="no action")
    first, second = story.state.turns
    assert (first.said, first.wanted, first.result) == (
        "say",
        {"kind": "read_file", "path": "a"},
        "seen",
    )
    assert (second.said, second.wanted, second.result) == ("hm", None, "no action")


def test_old_turns_are_counted_and_not_kept():
    story = Story()
    for _ in range(MAX_TURNS + 3):
        story.propose("verify").complete("verify")
    assert len(story.state.turns) == MAX_TURNS
    assert story.state.dropped_turns == 3
    assert story.state.answers == MAX_TURNS + 3


# What follows from a state.


def test_the_model_is_asked_where_nothing_is_pending():
    assert machine.step(Story().state) == machine.AskModel()


def test_A10_all_steps_used_ends_the_task():
    story = Story(max_steps=2)
    story.propose("verify").complete("verify").propose("verify").complete("verify")
    effect = machine.step(story.state)
    assert isinstance(effect, machine.Fail)
    assert effect.reason == "step_limit"


def test_the_last_permitted_step_is_still_done():
    story = Story(max_steps=1).propose("verify")
    assert isinstance(machine.step(story.state), machine.Decide)


def test_A16_three_refused_answers_in_a_row_end_the_task_and_two_do_not():
    story = Story(max_steps=50)
    for n in (1, 2):
        story.tell("answer.refused", step=n, reason="bad")
    assert machine.step(story.state) == machine.AskModel()
    story.propose("verify").complete("verify")
    for n in (4, 5):
        story.tell("answer.refused", step=n, reason="bad")
    assert machine.step(story.state) == machine.AskModel()
    effect = machine.step(story.tell("answer.refused", step=6, reason="bad").state)
    assert isinstance(effect, machine.Fail)
    assert effect.reason == "invalid_answers"


def _asked(kind: str = "run_tool") -> Story:
    story = Story().propose(kind, program="curl")
    return story.tell("approval.requested", approval="a1", action=story.action, kind=kind)


def test_a_task_with_an_open_question_waits():
    assert machine.step(_asked().state) == machine.Wait()


@pytest.mark.parametrize("answer", ["approved", "superseded", "cancelled"])
def test_an_answered_action_is_decided_again_and_never_just_done(answer):
    story = _asked()
    story.tell(
        f"approval.{answer}", approval="a1", action=story.action, kind="run_tool", comment=""
    )
    effect = machine.step(story.state)
    assert isinstance(effect, machine.Decide)
    assert effect.pending.answer == answer


def test_a_denial_is_told_with_its_comment_and_expiry_is_told_apart():
    story = _asked()
    told = {"approval": "a1", "action": story.action, "kind": "run_tool"}
    denied = machine.step(apply(story.state, "approval.denied", {**told, "comment": "not here"}))
    expired = machine.step(apply(story.state, "approval.expired", told))
    assert isinstance(denied, machine.Refuse)
    assert isinstance(expired, machine.Refuse)
    assert "not here" in denied.reason
    assert denied.by == "person"
    assert "no denial" in expired.reason
    assert expired.by == "expiry"


def test_an_answer_to_another_question_changes_nothing():
    story = _asked()
    before = story.state
    told = {"approval": "a2", "action": story.action, "kind": "run_tool", "comment": ""}
    assert apply(before, "approval.approved", told) == before


def test_an_answered_question_of_the_model_is_an_observation():
    story = _asked("ask_human")
    story.tell("approval.approved", approval="a1", action=story.action, comment="blue")
    effect = machine.step(story.state)
    assert isinstance(effect, machine.Answer)
    assert effect.pending.comment == "blue"


def test_F42_an_action_that_had_started_is_recovered_and_not_done_again():
    story = Story().propose("run_tool", program="x").start()
    assert isinstance(machine.step(story.state), machine.Recover)


def test_a_retry_gives_new_steps_and_keeps_the_count_of_answers():
    story = Story(max_steps=1).propose("verify").complete("verify")
    story.tell("answer.refused", step=1, reason="bad").tell("task.retried")
    assert (story.state.steps, story.state.refused_in_row, story.state.answers) == (0, 0, 1)
    assert machine.step(story.state) == machine.AskModel()


MOVES = ["edit1", "edit2", "pass1", "pass2", "fail", "tree1", "tree2", "tool"]


@given(st.lists(st.sampled_from(MOVES), max_size=12))
def test_no_story_ends_without_debt_unless_what_is_there_was_verified(moves):
    """The rule in one line: no debt means that nothing changed, or that the last change of any
    kind lies before a pass on exactly this tree."""
    story, tree, proven, edited = Story(), BASE, BASE, False
    for move in moves:
        if move.startswith("edit"):
            tree, edited = {"1": ONE, "2": TWO}[move[-1]], True
            story.edit(tree)
        elif move.startswith("pass"):
            of = {"1": ONE, "2": TWO}[move[-1]]
            proven, edited = of, False
            story.verify(of)
        elif move.startswith("tree"):
            tree = {"1": ONE, "2": TWO}[move[-1]]
            story.tree(tree)
        elif move == "fail":
            story.verify(tree, passed=False)
        else:
            story.propose("run_tool", program="x").start().complete("run_tool")
    assert story.state.debt == (edited or tree != proven)


@given(st.lists(st.sampled_from(MOVES), max_size=8), st.integers(0, 30))
def test_a_fold_may_be_cut_anywhere_and_taken_up_again(moves, cut):
    story = Story()
    for move in moves:
        story.edit(ONE) if move.startswith("edit") else story.verify(ONE)
    state = fold(TASK, story.events[:cut])
    for type_, _, payload in story.events[cut:]:
        state = apply(state, type_, payload, TASK)
    assert state == story.state
