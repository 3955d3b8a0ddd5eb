"""The 45 moments at which something can go wrong between two commits, and the tests that go there.

`tests` are `folder::function`, the folder below `tests/`. Where the product has no such moment,
`reason` says why.
"""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """One moment: what happens, and the tests of what must come of it."""

    number: int
    what: str
    tests: tuple[str, ...] = ()
    reason: str = ""


KILLS = "durable::test_R2_F42_a_process_that_is_killed_at_a_point_costs_nothing_but_time"
PG_KILLS = "durable::test_R2_F42_the_same_on_postgresql"
STOPS = "durable::test_F44_a_worker_that_was_frozen_is_fenced_off_wherever_it_was"
WITHIN = "durable::test_a_transaction_that_freezes_is_waited_for"
PG_WITHIN = "durable::test_on_postgresql_a_frozen_transaction_holds_up_no_other_run"
ERRORS = "durable::test_an_error_of_the_database_at_a_commit_is_got_over"
REAPERS = "durable::test_a_reaper_that_is_killed_takes_back_whole_or_not_at_all"

WINDOWS = [
    Window(
        1,
        "a run is handed over, and its writer dies or fails before the commit",
        (
            KILLS,
            "durable::test_an_error_in_the_middle_of_a_submission_leaves_nothing",
            "durable::test_a_submission_that_was_killed_leaves_files_that_go_after_a_day",
        ),
    ),
    Window(
        2,
        "a run is committed, and its sender never hears of it",
        (
            KILLS,
            "agent::test_R1_the_same_key_twice_is_the_first_run_and_writes_nothing",
        ),
    ),
    Window(
        3,
        "a task is ready, and the message about it is lost",
        (KILLS, "durable::test_a_lost_message_is_sent_again_by_the_next_pass"),
    ),
    Window(
        4,
        "a message comes twice, or after the end",
        (
            "durable::test_a_message_that_comes_twice_or_late_finds_nothing_and_writes_nothing",
            "durable::test_a_message_for_a_task_that_another_holds_leaves_it_alone",
        ),
    ),
    Window(5, "a claimer has found its candidate and locked it", (KILLS, WITHIN)),
    Window(6, "a claim is written, not committed", (KILLS, PG_KILLS, WITHIN, PG_WITHIN, ERRORS)),
    Window(7, "a claim is committed, and no step follows", (KILLS, PG_KILLS, STOPS)),
    Window(
        8,
        "the whole cluster dies with a message in its hands",
        ("durable::test_R2_a_cluster_that_is_killed_at_work_costs_one_attempt",),
    ),
    Window(
        9,
        "an action is journaled as started, its effect not begun",
        (
            KILLS,
            STOPS,
            "agent::test_an_edit_that_was_not_done_is_done_after_the_crash",
        ),
    ),
    Window(
        10,
        "an effect is done, and nothing says so",
        (
            KILLS,
            PG_KILLS,
            STOPS,
            "agent::test_a_push_that_was_interrupted_is_unknown",
            "agent::test_a_commit_that_was_made_is_not_made_again",
        ),
    ),
    Window(
        11,
        "bytes are stored, nothing refers to them",
        (
            KILLS,
            "store::test_C2_an_orphan_is_collected_after_a_day_and_not_before",
        ),
    ),
    Window(
        12,
        "half of the bytes are stored",
        (
            KILLS,
            "store::test_a_file_that_is_still_being_written_is_no_blob",
            "durable::test_half_a_blob_goes_after_a_day",
        ),
    ),
    Window(13, "events of a step are written, not committed", (KILLS, PG_KILLS, WITHIN, ERRORS)),
    Window(
        14,
        "events of a step are committed, the worker dies",
        (
            KILLS,
            "agent::test_R11_a_crash_after_the_trace_does_not_run_the_command_again",
        ),
    ),
    Window(
        15,
        "a holder comes back after another took its task",
        (STOPS, "durable::test_F44_a_lease_runs_out_by_the_clock_and_nobodys_hand"),
    ),
    Window(
        16,
        "a holder renews late, and nobody took its task",
        ("durable::test_a_late_renewal_counts_where_nobody_took_the_task_back",),
    ),
    Window(
        17,
        "a busy writer keeps a holder from renewing",
        (
            "durable::test_a_busy_writer_costs_no_lease",
            "durable::test_a_holder_that_cannot_renew_stops_before_others_may_begin",
        ),
    ),
    Window(18, "the end of a task is written, not committed", (KILLS, PG_KILLS, WITHIN, ERRORS)),
    Window(
        19,
        "the end of a task is committed, its children are not woken",
        (
            KILLS,
            "store::test_a_child_becomes_ready_once_in_the_transaction_of_its_last_parent",
        ),
    ),
    Window(
        20,
        "two parents end at once",
        ("store::test_two_parents_that_end_at_once_wake_the_child_once",),
    ),
    Window(21, "a question is written, not committed", (KILLS, PG_KILLS, ERRORS)),
    Window(
        22,
        "a question is committed, its worker dies",
        (
            KILLS,
            PG_KILLS,
            STOPS,
            "store::test_a_restart_loses_nothing_of_a_question",
        ),
    ),
    Window(23, "an answer is written, not committed", (KILLS, PG_KILLS, ERRORS)),
    Window(
        24,
        "an answer is committed, and whoever took it dies before anyone hears",
        (
            KILLS,
            PG_KILLS,
            "store::test_F4_the_same_answer_again_changes_nothing_and_another_is_told_what_stands",
        ),
    ),
    Window(
        25,
        "an answer comes while its task is still being put to rest",
        ("store::test_an_answer_is_event_wake_up_and_ready_task_at_once",),
        "A question and the waiting of its task are one transaction, so there is nothing to answer"
        " before; the test says what an answer does then.",
    ),
    Window(26, "an answer is used, and its action not begun", (KILLS, PG_KILLS, STOPS)),
    Window(
        27,
        "what was approved has changed since",
        ("agent::test_an_approval_is_void_where_the_file_it_is_about_has_changed",),
    ),
    Window(
        28,
        "a cancellation and a success at once",
        (
            "store::test_X12_a_cancel_and_a_success_at_once_end_in_one_of_the_two",
            "durable::test_X2_X12_X15_any_order_of_services_keeps_every_promise",
        ),
    ),
    Window(
        29,
        "a run is cancelled, and its worker hears nothing",
        (
            "durable::test_a_cancel_while_the_worker_is_frozen_ends_cancelled_and_never_succeeded",
            "durable::test_F22_a_cancel_that_is_killed_is_whole_or_was_not",
            "agent::test_a_cancelled_task_whose_worker_dies_is_cancelled",
        ),
    ),
    Window(
        30,
        "a question's time is up while somebody answers",
        (
            "store::test_expiry_and_an_answer_at_once_end_in_one_of_the_two",
            "durable::test_an_expiry_that_is_killed_is_whole_or_was_not",
        ),
    ),
    Window(31, "a reaper dies in its pass", (REAPERS,)),
    Window(
        32,
        "two reapers at once",
        (
            "store::test_two_reapers_take_a_task_back_once",
            "durable::test_two_passes_at_once_over_many_runs_do_each_thing_once",
        ),
    ),
    Window(
        33,
        "a reaper acts on what is no longer so",
        (
            "store::test_a_reaper_that_read_before_the_task_ended_changes_nothing",
            "durable::test_a_guard_that_is_gone_is_noticed",
        ),
    ),
    Window(
        34,
        "a task kills its worker each time",
        ("agent::test_X15_a_task_that_kills_its_worker_each_time_ends_at_the_bound",),
    ),
    Window(
        35,
        "a second try falls due while everything is down",
        ("store::test_nothing_is_retried_unasked",),
        "No try is put off by time: a lost lease makes its task ready at once, and a failed one is"
        " only tried again when somebody asks.",
    ),
    Window(
        36,
        "nobody puts things right for an hour",
        ("durable::test_after_an_hour_without_a_reconciler_one_pass_catches_up_once",),
    ),
    Window(
        37,
        "the power fails in the middle of a commit",
        (
            "durable::test_X3_a_log_that_is_cut_anywhere_opens_and_holds_a_prefix",
            "durable::test_every_commit_is_on_the_disk_before_it_is_acknowledged",
        ),
    ),
    Window(
        38,
        "the disk is full in the middle of a transaction",
        ("durable::test_a_full_disk_is_an_error_and_not_a_torn_record",),
    ),
    Window(
        39,
        "the database server ends at once and starts again",
        (
            "durable::test_postgresql_goes_away_while_a_worker_works",
            "durable::test_B6_a_pass_that_the_end_of_the_server_interrupts_is_done_by_the_next",
        ),
    ),
    Window(
        40,
        "the server ends a worker's connection",
        (
            "durable::test_postgresql_goes_away_while_a_worker_works",
            "durable::test_on_postgresql_who_freezes_in_a_transaction_is_thrown_out",
        ),
    ),
    Window(
        41,
        "the clock jumps by an hour",
        (
            "durable::test_a_clock_that_jumps_takes_no_living_lease",
            "durable::test_numbers_and_questions_do_not_care_for_a_clock_set_back",
            "store::test_the_start_of_a_life_is_told_by_a_clock_that_nobody_sets",
            "store::test_the_clock_of_the_application_holds_no_task",
            "store::test_X3_a_clock_that_is_set_back_holds_no_task",
        ),
    ),
    Window(
        42,
        "old and new code at once",
        (
            "durable::test_what_a_newer_worker_left_is_done_by_a_newer_one_and_by_no_other",
            "durable::test_an_older_worker_looks_once_and_does_not_spin",
            "durable::test_a_record_that_nobody_noted_is_given_back_once_and_costs_no_attempt",
            "durable::test_an_older_version_can_still_end_a_run_that_only_a_newer_one_goes_on_with",
            "store::test_a_claim_and_whoever_counts_ready_tasks_pass_such_a_run_by",
            "store::test_a_question_of_such_a_run_is_answered_there_or_denied_here",
            "agent::test_a_hold_ends_at_the_next_step_where_a_newer_version_writes_to_the_run",
            "unit::test_an_event_of_an_unknown_type_is_kept_and_shown_and_folds_to_nothing",
            "unit::test_a_version_of_a_later_release_is_kept_and_shown_and_folds_to_nothing",
        ),
    ),
    Window(
        43,
        "the queue's cluster lives and takes nothing",
        (
            "worker::test_a_message_that_nobody_takes_means_a_hung_cluster",
            "worker::test_waiting_proves_nothing_while_every_worker_is_busy",
            "durable::test_B1_after_the_death_of_idle_workers_the_queue_moves_again_within_ninety_seconds",
        ),
    ),
    Window(
        44,
        "the cluster's first process is killed",
        (
            "worker::test_a_child_that_dies_is_started_again_and_takes_its_own_with_it",
            "worker::test_a_killed_supervisor_leaves_no_child",
        ),
    ),
    Window(
        45,
        "a browser loses its connection and comes back",
        ("web::test_F46_twenty_drops_in_two_thousand_events_lose_and_double_nothing",),
    ),
]
