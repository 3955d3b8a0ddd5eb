"""What people reported of other systems (B1-B33), and the tests that provoke the like of it here.

`tests` are `folder::function`, the folder below `tests/`. Where the product has nothing of the
kind, `reason` says why.
"""

from __future__ import annotations

from tests.durable.windows import KILLS, REAPERS, STOPS, Window

REPORTS = [
    Window(
        1,
        "a cluster looks well and runs nothing",
        (
            "durable::test_B1_after_the_death_of_idle_workers_the_queue_moves_again_within_ninety_seconds",
            "worker::test_a_message_that_nobody_takes_means_a_hung_cluster",
        ),
    ),
    Window(
        2,
        "a result is lost after its time was up",
        ("durable::test_B2_what_a_message_returns_is_nothing_so_that_no_result_can_be_lost",),
    ),
    Window(
        3,
        "a stop hangs now and then",
        ("durable::test_B3_every_stop_of_a_cluster_ends_within_its_bound",),
    ),
    Window(
        4,
        "a task that kills its worker runs for ever",
        ("agent::test_X15_a_task_that_kills_its_worker_each_time_ends_at_the_bound",),
    ),
    Window(
        5,
        "a long task runs several times",
        ("durable::test_B5_B32_a_second_message_while_a_slice_goes_on_does_nothing",),
    ),
    Window(
        6,
        "what a dead worker held stays so, as the database ended during its recovery",
        ("durable::test_B6_a_pass_that_the_end_of_the_server_interrupts_is_done_by_the_next",),
    ),
    Window(
        7,
        "two recoveries of one snapshot",
        (
            "store::test_two_reapers_take_a_task_back_once",
            "durable::test_a_guard_that_is_gone_is_noticed",
        ),
    ),
    Window(
        8,
        "a recovered task is stuck between two steps",
        (
            "durable::test_B8_after_a_step_the_next_worker_goes_on_at_once_even_where_it_is_the_only_one",
        ),
    ),
    Window(
        9,
        "a task is at work for ever, as the row of its worker is gone",
        ("durable::test_B9_B13_a_dead_workers_row_may_go_first_and_its_name_may_come_back",),
    ),
    Window(10, "nobody recovers, as the recovery itself is stuck", (REAPERS,)),
    Window(
        11,
        "an ended task is tried again",
        ("store::test_a_reaper_that_read_before_the_task_ended_changes_nothing",),
    ),
    Window(
        12,
        "a long task is handed to a second worker for its age",
        ("durable::test_B12_a_step_longer_than_five_leases_is_never_taken_back",),
    ),
    Window(
        13,
        "what a dead worker held is not recovered, as its name came back",
        (
            "durable::test_B9_B13_a_dead_workers_row_may_go_first_and_its_name_may_come_back",
            "store::test_a_holder_with_another_start_of_its_process_id_is_another_life",
        ),
    ),
    Window(
        14,
        "a task is picked again while it runs, as heartbeats come late",
        ("durable::test_B14_a_renewal_may_be_late_and_one_that_is_too_late_is_fenced_off",),
    ),
    Window(
        15,
        "a dead task fills the slot that its own recovery needs",
        reason="There are no slots: how many tasks run at once is how many workers there are.",
    ),
    Window(
        16,
        "a worker beats and gets no work",
        ("durable::test_B16_a_heartbeat_alone_is_no_sign_of_life",),
    ),
    Window(17, "results are taken after the end of the lease", (STOPS,)),
    Window(
        18,
        "a slow task is taken back for ever",
        ("durable::test_B18_a_slow_task_that_is_taken_back_again_and_again_ends",),
    ),
    Window(
        19,
        "who cannot renew only says so, and two run",
        ("durable::test_a_holder_that_cannot_renew_stops_before_others_may_begin",),
    ),
    Window(20, "going on after an answer does the steps before it again", (KILLS,)),
    Window(
        21,
        "answers go to the wrong question",
        ("durable::test_B21_answers_go_to_the_question_they_are_about",),
    ),
    Window(
        22,
        "answered from elsewhere, and nothing goes on",
        ("store::test_an_answer_is_event_wake_up_and_ready_task_at_once", KILLS),
    ),
    Window(23, "an approved action is asked for again", (KILLS,)),
    Window(
        24,
        "questions are gone after a restart",
        ("store::test_a_restart_loses_nothing_of_a_question",),
    ),
    Window(
        25,
        "an old question blocks the agent",
        ("store::test_F9_F22_a_cancelled_run_takes_its_questions_along_in_one_transaction",),
    ),
    Window(
        26,
        "an agent ends its own question and goes on",
        ("durable::test_B26_nobody_who_works_can_take_a_task_out_of_its_wait",),
    ),
    Window(
        27,
        "at work for ever after everything had stopped",
        ("durable::test_F44_a_lease_runs_out_by_the_clock_and_nobodys_hand",),
    ),
    Window(
        28,
        "a process that was not there before cannot go on",
        (KILLS, "store::test_a_restart_loses_nothing_of_a_question"),
    ),
    Window(
        29,
        "a file of the database is damaged after a fork",
        ("durable::test_B29_no_open_connection_crosses_a_fork_of_the_cluster",),
    ),
    Window(
        30,
        "the database is locked when it is first opened",
        ("durable::test_B30_many_processes_begin_on_a_folder_where_there_is_nothing_yet",),
    ),
    Window(
        31,
        "followers miss events",
        ("durable::test_B31_a_follower_sees_every_event_whichever_transaction_commits_first",),
    ),
    Window(
        32,
        "messages that wait in memory come again",
        ("durable::test_B5_B32_a_second_message_while_a_slice_goes_on_does_nothing",),
    ),
    Window(
        33,
        "living tasks are declared dead",
        ("durable::test_B33_who_renews_too_seldom_is_not_started",),
    ),
]
