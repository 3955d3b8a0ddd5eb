"""What a model may propose, field by field. Anything else is refused.

Paths are relative to the worktree; sizes are characters unless said; timeouts are seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

MAX_PATH = 4096
MAX_TEXT = 1 << 20
MAX_ARGUMENT = 128 << 10
MAX_ARGUMENTS = 1000
MAX_TIMEOUT = 600
MAX_SHORT = 8192
MAX_NAME = 80
"""Characters of a field's name that a refusal repeats."""


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode text") from None
    return text


_Text = AfterValidator(_plain)
Path = Annotated[str, Field(min_length=1, max_length=MAX_PATH), _Text]
Content = Annotated[str, Field(max_length=MAX_TEXT), _Text]
Short = Annotated[str, Field(min_length=1, max_length=MAX_SHORT), _Text]
Name = Annotated[str, Field(min_length=1, max_length=255), _Text]
Argument = Annotated[str, Field(max_length=MAX_ARGUMENT), _Text]
Arguments = Annotated[list[Argument], Field(max_length=MAX_ARGUMENTS)]
Timeout = Annotated[int, Field(ge=1, le=MAX_TIMEOUT)]
Offset = Annotated[int, Field(ge=1, le=10_000_000)]
Limit = Annotated[int, Field(ge=1, le=10_000)]


class Action(BaseModel):
    """One step that a model proposes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    edits: ClassVar[bool] = False
    """Whether it is an edit action: those open the verification debt."""
    reads_only: ClassVar[bool] = False
    """Whether it changes nothing outside the model's own context."""

    def body(self) -> dict[str, Any]:
        """The fields that were given, defaults left out: the form that is journaled and hashed."""
        return self.model_dump(exclude_none=True)


class ReadFile(Action):
    """Read a text file, by lines. `offset` is the first line (from 1), `limit` a number of lines."""

    reads_only = True
    kind: Literal["read_file"]
    path: Path
    offset: Offset | None = None
    limit: Limit | None = None


class ListFiles(Action):
    """List one directory."""

    reads_only = True
    kind: Literal["list_files"]
    path: Path | None = None


class Glob(Action):
    """Find files whose path below `path` fits a pattern (`*`, `?`, `[…]`, `**`)."""

    reads_only = True
    kind: Literal["glob"]
    pattern: Path
    path: Path | None = None


class Grep(Action):
    """Find lines that match a regular expression, in a file or below a directory."""

    reads_only = True
    kind: Literal["grep"]
    pattern: Short
    path: Path | None = None
    ignore_case: bool | None = None


class ReplaceText(Action):
    """Replace the one occurrence of `expected` in a file."""

    edits = True
    kind: Literal["replace_text"]
    path: Path
    expected: Content
    replacement: Content


class WriteFile(Action):
    """Create a file, or replace it whole."""

    edits = True
    kind: Literal["write_file"]
    path: Path
    content: Content


class ApplyPatch(Action):
    """Apply a unified diff in git's style to text files: all of it, or nothing."""

    edits = True
    kind: Literal["apply_patch"]
    patch: Content


class RunTool(Action):
    """Run one program with arguments; nothing is interpreted by a shell."""

    kind: Literal["run_tool"]
    program: Path
    args: Arguments | None = None
    cwd: Path | None = None
    timeout: Timeout | None = None


class RunShell(Action):
    """Run a shell script."""

    kind: Literal["run_shell"]
    script: Annotated[str, Field(min_length=1, max_length=MAX_ARGUMENT), _Text]
    cwd: Path | None = None
    timeout: Timeout | None = None


class Verify(Action):
    """Run the operator's verification commands exactly as configured."""

    reads_only = True
    kind: Literal["verify"]


class GitStatus(Action):
    """Show what changed against the last commit."""

    reads_only = True
    kind: Literal["git_status"]


class GitDiff(Action):
    """Show the changes as a unified diff."""

    reads_only = True
    kind: Literal["git_diff"]
    path: Path | None = None


class GitLog(Action):
    """Show the last commits."""

    reads_only = True
    kind: Literal["git_log"]
    limit: Limit | None = None


class GitShow(Action):
    """Show a commit, or one file of it."""

    reads_only = True
    kind: Literal["git_show"]
    rev: Name
    path: Path | None = None


class GitCommit(Action):
    """Commit the whole tree to the run's branch."""

    kind: Literal["git_commit"]
    message: Short


class GitPush(Action):
    """Push the run's branch to a remote that was recorded with the workspace."""

    kind: Literal["git_push"]
    remote: Name | None = None
    ref: Name | None = None


class CreateArtifact(Action):
    """Keep a text as an artifact of the run."""

    kind: Literal["create_artifact"]
    name: Name
    content: Content


class ReadArtifact(Action):
    """Read an artifact of the run by its SHA-256."""

    reads_only = True
    kind: Literal["read_artifact"]
    id: Name


class StartJob(Action):
    """Start a program in the background. It ends with the task, at the latest after 10 minutes."""

    kind: Literal["start_job"]
    program: Path
    args: Arguments | None = None


class JobOutput(Action):
    """Read what a background job has printed since it was last asked, and how it stands."""

    reads_only = True
    kind: Literal["job_output"]
    job: Name


class StopJob(Action):
    """End a background job."""

    kind: Literal["stop_job"]
    job: Name


class AskHuman(Action):
    """Ask a person a question; the run waits for the answer."""

    reads_only = True
    kind: Literal["ask_human"]
    question: Short


class Finish(Action):
    """Say that the objective is reached."""

    reads_only = True
    kind: Literal["finish"]
    summary: Short


AnyAction = Annotated[
    Union[  # noqa: UP007  (a discriminated union reads better as a list)
        ReadFile,
        ListFiles,
        Glob,
        Grep,
        ReplaceText,
        WriteFile,
        ApplyPatch,
        RunTool,
        RunShell,
        Verify,
        GitStatus,
        GitDiff,
        GitLog,
        GitShow,
        GitCommit,
        GitPush,
        CreateArtifact,
        ReadArtifact,
        StartJob,
        JobOutput,
        StopJob,
        AskHuman,
        Finish,
    ],
    Field(discriminator="kind"),
]
ADAPTER: TypeAdapter[Action] = TypeAdapter(AnyAction)
KINDS: dict[str, type[Action]] = {
    cls.model_fields["kind"].annotation.__args__[0]: cls  # type: ignore[union-attr]
    for cls in Action.__subclasses__()
}


class InvalidAction(ValueError):
    """A proposal that does not fit the schema. The text names field and fault, for the model."""


def parse(raw: object) -> Action:
    """The action that `raw` (decoded JSON) describes. Raises `InvalidAction`."""
    if not isinstance(raw, dict):
        raise InvalidAction(f"an action is one JSON object, not {type(raw).__name__}")
    try:
        return ADAPTER.validate_python(raw)
    except ValidationError as error:
        raise InvalidAction(_explain(error)) from None


def _explain(error: ValidationError) -> str:
    """One line per fault, without echoing what was sent."""
    lines = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False)[:8]:
        if fault["type"].startswith("union_tag"):
            lines.append(f"kind: it must be one of {', '.join(KINDS)}")
            continue
        # The first part is the kind; field names may be anything that was sent.
        place = ".".join(_shown(str(part)) for part in fault["loc"][1:]) or "action"
        lines.append(f"{place}: {fault['msg']}")
    return "; ".join(lines)


def _shown(name: str) -> str:
    text = name.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
