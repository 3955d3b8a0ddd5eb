"""Every kind of event, one module each. `REGISTRY` finds a kind by its type.

Rows of a type that is not here are kept, chained and shown like all others.
"""

from __future__ import annotations

from runtime.journal.kind import Payload

from .action_completed import ActionCompleted
from .action_edited import ActionEdited
from .action_outcome_unknown import ActionOutcomeUnknown
from .action_proposed import ActionProposed
from .action_refused import ActionRefused
from .action_started import ActionStarted
from .anchor_made import AnchorMade
from .answer_refused import AnswerRefused
from .approval_approved import ApprovalApproved
from .approval_cancelled import ApprovalCancelled
from .approval_consumed import ApprovalConsumed
from .approval_denied import ApprovalDenied
from .approval_expired import ApprovalExpired
from .approval_reminded import ApprovalReminded
from .approval_requested import ApprovalRequested
from .approval_superseded import ApprovalSuperseded
from .budget_granted import BudgetGranted
from .checkpoint_created import CheckpointCreated
from .context_compacted import ContextCompacted
from .delivery_completed import DeliveryCompleted
from .finish_refused import FinishRefused
from .grant_created import GrantCreated
from .grant_revoked import GrantRevoked
from .guarded_files_changed import GuardedFilesChanged
from .job_ended import JobEnded
from .job_started import JobStarted
from .link_made import LinkMade
from .loop_warned import LoopWarned
from .message_completed import MessageCompleted
from .message_cut import MessageCut
from .model_failed import ModelFailed
from .person_added import PersonAdded
from .person_password_set import PersonPasswordSet
from .person_signed_in import PersonSignedIn
from .person_signed_out import PersonSignedOut
from .policy_decided import PolicyDecided
from .policy_loaded import PolicyLoaded
from .run_cancel_requested import RunCancelRequested
from .run_cancelled import RunCancelled
from .run_failed import RunFailed
from .run_retried import RunRetried
from .run_submitted import RunSubmitted
from .run_succeeded import RunSucceeded
from .sandbox_available import SandboxAvailable
from .sandbox_unavailable import SandboxUnavailable
from .sign_in_refused import SignInRefused
from .task_cancelled import TaskCancelled
from .task_cancelling import TaskCancelling
from .task_claimed import TaskClaimed
from .task_demoted import TaskDemoted
from .task_failed import TaskFailed
from .task_lease_expired import TaskLeaseExpired
from .task_ready import TaskReady
from .task_released import TaskReleased
from .task_retried import TaskRetried
from .task_skipped import TaskSkipped
from .task_succeeded import TaskSucceeded
from .task_waiting import TaskWaiting
from .verification_failed import VerificationFailed
from .verification_inputs_changed import VerificationInputsChanged
from .verification_passed import VerificationPassed
from .workspace_registered import WorkspaceRegistered
from .worktree_restored import WorktreeRestored

__all__ = [
    "REGISTRY",
    "ActionCompleted",
    "ActionEdited",
    "ActionOutcomeUnknown",
    "ActionProposed",
    "ActionRefused",
    "ActionStarted",
    "AnchorMade",
    "AnswerRefused",
    "ApprovalApproved",
    "ApprovalCancelled",
    "ApprovalConsumed",
    "ApprovalDenied",
    "ApprovalExpired",
    "ApprovalReminded",
    "ApprovalRequested",
    "ApprovalSuperseded",
    "BudgetGranted",
    "CheckpointCreated",
    "ContextCompacted",
    "DeliveryCompleted",
    "FinishRefused",
    "GrantCreated",
    "GrantRevoked",
    "GuardedFilesChanged",
    "JobEnded",
    "JobStarted",
    "LinkMade",
    "LoopWarned",
    "MessageCompleted",
    "MessageCut",
    "ModelFailed",
    "PersonAdded",
    "PersonPasswordSet",
    "PersonSignedIn",
    "PersonSignedOut",
    "PolicyDecided",
    "PolicyLoaded",
    "RunCancelRequested",
    "RunCancelled",
    "RunFailed",
    "RunRetried",
    "RunSubmitted",
    "RunSucceeded",
    "SandboxAvailable",
    "SandboxUnavailable",
    "SignInRefused",
    "TaskCancelled",
    "TaskCancelling",
    "TaskClaimed",
    "TaskDemoted",
    "TaskFailed",
    "TaskLeaseExpired",
    "TaskReady",
    "TaskReleased",
    "TaskRetried",
    "TaskSkipped",
    "TaskSucceeded",
    "TaskWaiting",
    "VerificationFailed",
    "VerificationInputsChanged",
    "VerificationPassed",
    "WorkspaceRegistered",
    "WorktreeRestored",
]

REGISTRY: dict[str, type[Payload]] = {kind.type: kind for kind in Payload.__subclasses__()}
