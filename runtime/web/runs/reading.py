"""Reading a page of runs with what each one waits for and who holds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import QuerySet

from runtime.models import Approval, Run, Task, User, Workspace
from runtime.workflow.states import LEASED, RunState

PAGE = 50
STATES = tuple(str(state) for state in RunState)


@dataclass(frozen=True)
class Wish:
    """What the address asks for: a state, a workspace, runs before an id."""

    state: str = ""
    workspace: str = ""
    before: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Wish:
        """From the query string; an unknown state is no filter."""
        state = query.get("state", "")
        return cls(
            state if state in STATES else "",
            query.get("workspace", "")[:64],
            query.get("before", "")[:26].lower(),
        )

    def query(self, **changes: str) -> str:
        """The query string of this wish with some parts changed."""
        parts = {"state": self.state, "workspace": self.workspace, "before": self.before, **changes}
        return urlencode({name: value for name, value in parts.items() if value})


def runs(user: User, wish: Wish) -> tuple[list[Run], bool]:
    """A page of runs, the newest first, and whether older ones follow.

    Identifiers sort by time, so the page before goes by the last one shown.
    """
    rows: QuerySet[Run] = Run.objects.visible_to(user).select_related("workspace").order_by("-id")
    if wish.state:
        rows = rows.filter(state=wish.state)
    if wish.workspace:
        rows = rows.filter(workspace__name=wish.workspace)
    if wish.before:
        rows = rows.filter(pk__lt=wish.before)
    found = list(rows[: PAGE + 1])
    return found[:PAGE], len(found) > PAGE


def waits(ids: Iterable[str]) -> dict[str, Approval]:
    """The oldest open question of each run."""
    rows = Approval.objects.filter(run__in=list(ids), state=Approval.State.PENDING)
    return {row.run_id: row for row in rows.order_by("-requested_at", "-id")}


def holders(ids: Iterable[str]) -> dict[str, Task]:
    """A held task of each run."""
    rows = Task.objects.filter(run__in=list(ids), state__in=[str(state) for state in LEASED])
    return {row.run_id: row for row in rows.order_by("id")}


def workspace_names() -> list[str]:
    """Names to filter by."""
    return list(Workspace.objects.order_by("name").values_list("name", flat=True)[:200])
