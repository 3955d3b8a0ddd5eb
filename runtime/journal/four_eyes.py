"""What the database itself asks of a yes to an ESCALATE: somebody of security gave it.

Whoever gives it is a member at that moment. A row that is written whole, as `replay --rebuild`
does long after, is what the journal says instead; groups may be others by then.
"""

from __future__ import annotations

from django.contrib.auth.models import Group

from runtime.models import SECURITY, Approval, Event, Grant, User

APPROVALS = Approval._meta.db_table
GRANTS = Grant._meta.db_table


def _yes(row: str) -> str:
    """An answer that lifts, or lifted until it was void."""
    given = f"{row}.state = 'superseded' AND {row}.decided_by IS NOT NULL"
    return f"({row}.decision = 'ESCALATE' AND ({row}.state = 'approved' OR ({given})))"


_MEMBER = (
    f"EXISTS (SELECT 1 FROM {User._meta.db_table} u "
    f"JOIN {User.groups.through._meta.db_table} m ON m.user_id = u.id "
    f"JOIN {Group._meta.db_table} g ON g.id = m.group_id "
    f"WHERE u.username = NEW.decided_by AND u.is_active AND g.name = '{SECURITY}')"
)
_SAME = f"{_yes('OLD')} AND OLD.decided_by = NEW.decided_by"

CHANGED = (
    "NEW.decision <> OLD.decision OR NEW.submitted_by <> OLD.submitted_by OR "
    f"({_yes('NEW')} AND NOT coalesce({_SAME}, FALSE) AND NOT {_MEMBER})"
)
"""Of a row that is changed: what was asked is another, or the new yes is nobody's of security."""
LIFTED = (
    "NEW.lifts = 'ESCALATE' AND NOT EXISTS "
    f"(SELECT 1 FROM {APPROVALS} a WHERE a.id = NEW.approval_id "
    f"AND a.decided_by = NEW.granted_by AND {_yes('a')})"
)
"""Of a grant: it lifts an ESCALATE, and no such yes of its giver stands behind it."""
MESSAGE = "what was asked stays, and an ESCALATE is approved by a member of security alone"


def written(vendor: str) -> str:
    """Of a row that is written whole: a yes that the journal does not know."""
    named = "json_extract(e.payload, '$.approval')"
    if vendor != "sqlite":
        named = "e.payload::json ->> 'approval'"
    return (
        f"{_yes('NEW')} AND NOT EXISTS (SELECT 1 FROM {Event._meta.db_table} e "
        "WHERE e.run = NEW.run_id AND e.type = 'approval.approved' "
        f"AND e.actor = 'user:' || NEW.decided_by AND {named} = NEW.id)"
    )
