"""Places that are special wherever they appear, as data, and one function per question.

Names are compared without regard to letter case: some file systems do so too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .patterns import WILD, may_be, translate

GIT_NAMES = frozenset({".git"})
OWN_NAMES = frozenset({".m31a"})
"""Directories of this product: the worktree's copy of what governs the run."""

HOME_CREDENTIALS = (
    ".ssh",
    ".aws",
    ".gnupg",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".vault-token",
    ".terraform.d",
    ".terraformrc",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/gh",
    ".config/gcloud",
    ".config/git/credentials",
    ".config/hub",
    ".config/op",
    ".config/sops",
    ".config/rclone",
    ".config/containers/auth.json",
    ".config/google-chrome",
    ".config/chromium",
    ".mozilla",
    ".local/share/keyrings",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".claude",
    ".codex",
    ".gemini",
    ".config/anthropic",
    ".config/openai",
)
"""Below anybody's home directory: never read, never written."""

SYSTEM_SECRETS = tuple(
    re.compile(text)
    for text in (
        r"/etc/(g?shadow|sudoers|security/opasswd)-?(/.*)?",
        r"/etc/sudoers\.d(/.*)?",
        r"/etc/ssh/ssh_host_.*",
        r"/etc/ssl/private(/.*)?",
        r"/etc/(krb5\.keytab|machine-id)",
        r"/root(/.*)?",
        r"/home/[^/]+/\.(ssh|aws|gnupg|kube|docker|netrc|git-credentials|azure)(/.*)?",
        r"/(var/)?run/secrets(/.*)?",
        r"/(var/)?run/(docker|containerd|crio|podman|user)(/.*|\.sock)?",
        r"/(var/)?run/[^/]*\.sock",
        r"/proc/(kcore|kmem|kallsyms|keys|sysrq-trigger|sys|bus|acpi|scsi)(/.*)?",
        r"/proc/([^/]+/)(task/[^/]+/)?(environ|root|cwd|mem|maps|fd|fdinfo|auxv|map_files|ns|stack|syscall)(/.*)?",
        r"/dev/fd/.+",
        r"/dev/(mem|kmem|port|kmsg)",
        r"/dev/(tcp|udp)/.*",
        r"/sys/(kernel|firmware|fs)(/.*)?",
        r"/boot(/.*)?",
    )
)
"""Absolute paths that nobody reads or writes for an agent."""

DISKS = re.compile(
    r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|sr|nbd|ram|zram|mapper/|disk/|block/|input/|bus/|snd/|dri/).*"
)

SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")
"""Private to the cage and gone with it."""

ENVIRONMENTS = "/m31a/env"
"""Where a cage shows the environments that were registered with a workspace."""
PUBLIC = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt", "/nix", ENVIRONMENTS, *SCRATCH)
"""Parts of the system that hold programs and no secrets; the workspace's own environments."""

SECRET_NAMES = tuple(
    re.compile(translate(text))
    for text in (
        ".env",
        ".env.*",
        "*.env",
        ".envrc",
        "*.pem",
        "*.key",
        "*.p12",
        "*.pfx",
        "*.jks",
        "*.keystore",
        "*.kdbx",
        "*.keytab",
        "*.ppk",
        "*.gpg",
        "*.asc",
        "*.ovpn",
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        "credentials",
        "credentials.*",
        "*credentials.json",
        "service-account*.json",
        "service_account*.json",
        "client_secret*.json",
        "secret",
        "secrets",
        "secret.*",
        "secrets.*",
        "*.secret",
        "*.secrets",
        ".htpasswd",
        ".netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".vault-token",
        "*.tfstate",
        "*.tfstate.backup",
        "*.tfvars",
        "kubeconfig",
        "wallet.dat",
        "token",
        "tokens.json",
        "master.key",
        "local_settings.py",
    )
)
HARMLESS_SECRETS = re.compile(
    r".*[._-](example|sample|template|dist|tmpl|default|defaults|schema|test|tests)(\.[a-z0-9]+)?"
    r"|.*\.pub|(secrets?|credentials|token)\.(py|js|ts|tsx|jsx|go|rs|java|rb|c|h|cpp|md|rst|html|css)"
)
"""Names that look like a secret and are documentation, public halves or code."""

SECRET_DIRECTORIES = frozenset(
    {"secrets", ".secrets", ".ssh", ".aws", ".gnupg", ".kube", "private_keys"}
)
SECRET_TAILS = frozenset(
    {
        (".docker", "config.json"),
        (".config", "gh"),
        (".cargo", "credentials.toml"),
        ("gh", "hosts.yml"),
    }
)
"""Last two names of files that hold a secret in the one directory and not in another."""
CODE_SUFFIX = re.compile(r".*\.(py|js|ts|tsx|jsx|go|rs|java|rb|c|h|cc|cpp|md|rst|html|css|sh)")

GUIDED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(.*/)?({text})(/.*)?"), why)
    for text, why in (
        (
            r"\.pre-commit-config\.ya?ml|\.husky|\.githooks|git-?hooks|\.?lefthook(-local)?\.(ya?ml|toml|json)|\.lintstagedrc[^/]*|\.overcommit\.yml",
            "runs at commit time",
        ),
        (r"\.gitmodules|\.lfsconfig|\.hgrc|\.hg", "decides where a clone fetches from"),
        (
            r"\.vscode|\.idea|\.run|\.zed|\.fleet|\.vs|\.vim|\.nvim|\.nvim\.lua|\.exrc|\.lvimrc|\.vimrc|\.nvimrc|\.ideavimrc|\.emacs|\.emacs\.d|\.dir-locals(-2)?\.el|\.helix|\.neoconf\.json|[^/]*\.(code-workspace|sublime-project|sublime-build)",
            "an editor obeys it",
        ),
        (r"\.?devcontainer\.json|\.devcontainer", "its commands run on the host"),
        (
            r"\.claude|\.claude-plugin|\.codex|\.qwen|\.trae|\.augment|\.goose|\.goosehints|\.roomodes|\.roorules[^/]*|\.rules|\.augment-guidelines|\.cursor|\.gemini|\.windsurf|\.continue|\.aider[^/]*|\.roo|\.cline|\.clinerules|\.cursorrules|\.windsurfrules|\.mcp\.json|mcp\.json|\.amazonq|\.kiro|\.opencode|\.agents?|\.junie",
            "another agent obeys it",
        ),
        (
            r"claude(\.local)?\.md|agents?(\.override)?\.md|gemini\.md|qwen\.md|warp\.md|crush\.md|replit\.md|copilot-instructions\.md|\.github/(instructions|prompts|chatmodes|agents|hooks)",
            "agents take it for instructions",
        ),
        (
            r"\.github/(workflows|actions|codeowners)|\.gitlab-ci\.ya?ml|\.gitlab|\.circleci|\.travis\.yml|\.woodpecker(\.ya?ml)?|\.drone\.ya?ml|\.buildkite|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|jenkinsfile|\.?appveyor\.yml|cloudbuild\.ya?ml|\.azure-pipelines|\.forgejo|\.gitea|\.tekton|\.cirrus\.(ya?ml|star)|\.semaphore|\.teamcity|\.build\.yml|\.builds|\.sourcehut|buildspec\.ya?ml|codemagic\.yaml|\.github/dependabot\.ya?ml|renovate\.json5?|\.renovaterc[^/]*",
            "runs on the build server",
        ),
        (
            r"\.venv|venv|site-packages|node_modules|__pypackages__|\.tox|\.nox",
            "installed code that later commands run",
        ),
        (r"[^/]*\.pth|sitecustomize\.py|usercustomize\.py", "every start of Python runs it"),
        (
            r"\.envrc|\.direnv|\.?mise(\.local)?\.toml|\.mise|\.tool-versions|\.autoenv[^/]*|\.env\.autoenv|\.devenv|\.flox|\.rtx\.toml",
            "a shell obeys it on entering",
        ),
        (
            r"\.npmrc|\.yarnrc|\.yarnrc\.yml|\.yarn|\.pnpmfile\.[cm]?js|\.pnp\.[cm]?js|bunfig\.toml|\.pypirc|pip\.(conf|ini)|uv\.toml|\.condarc|\.gemrc|\.bundle|\.bazelrc|\.bazeliskrc|\.cargo|\.mvn|\.gradle|gradle-wrapper\.properties|gradle-wrapper\.jar|\.nuget|nuget\.config",
            "decides where packages come from or what a build runs",
        ),
        (
            r"\.bashrc|\.bash_profile|\.bash_login|\.bash_logout|\.bash_aliases|\.profile|\.zshrc|\.zshenv|\.zprofile|\.zlogin|\.zlogout|\.kshrc|\.mkshrc|\.cshrc|\.tcshrc|\.login|\.logout|\.xprofile|\.xinitrc|\.xsession|\.config/fish|\.gitconfig|\.config/git|\.inputrc|\.screenrc|\.tmux\.conf|\.gdbinit|\.lldbinit|\.pythonrc|\.pythonstartup|\.irbrc|\.pryrc|\.rprofile|\.psqlrc|\.sqliterc|\.wgetrc|\.curlrc",
            "a start-up file",
        ),
        (r"\.ssh|authorized_keys", "decides who may sign in"),
    )
)
"""Files inside a worktree that other programs obey: a person looks at the change first."""

GUIDED_PARENTS = re.compile(r"(.*/)?\.(github|config)")
"""Directories of which a part is obeyed: what comes or goes with the whole is not seen."""

_GUIDED_SAMPLES = tuple(
    tuple(path.split("/"))
    for path in (
        ".github/workflows/*",
        ".github/actions/*",
        ".circleci/*",
        ".vscode/*",
        ".idea/*",
        ".devcontainer/*",
        ".husky/*",
        ".cargo/*",
        ".claude/*",
        ".cursor/*",
        ".gitlab-ci.yml",
        ".travis.yml",
        ".pre-commit-config.yaml",
        ".gitmodules",
        ".envrc",
        ".npmrc",
        ".mcp.json",
        ".bashrc",
        ".profile",
        ".cursorrules",
        "CLAUDE.md",
        "AGENTS.md",
        "GEMINI.md",
        "Jenkinsfile",
        "sitecustomize.py",
        "azure-pipelines.yml",
    )
)
"""What a word with wildcards may become, from any directory; `*` is any name."""


def git_part(path: str) -> bool:
    """Whether a path is a git directory or lies in one, in any letter case."""
    return any(name in GIT_NAMES for name in _names(path))


def own_part(path: str) -> bool:
    """Whether a path belongs to this product's own directory in the worktree."""
    return any(name in OWN_NAMES for name in _names(path))


def credential(path: str) -> bool:
    """Whether an absolute path outside the worktree is a credential of some home directory."""
    folded = path.casefold().rstrip("/") + "/"
    return any(f"/{one}/" in folded for one in HOME_CREDENTIALS)


def hidden_below(path: str) -> bool:
    """Whether some name of a path begins with a dot: a start-up file, or settings."""
    return any(name.startswith(".") for name in _names(path))


def system_secret(path: str) -> bool:
    """Whether an absolute path is one of the system's secrets."""
    return any(pattern.fullmatch(path) for pattern in SYSTEM_SECRETS)


def raw_disk(path: str) -> bool:
    """Whether an absolute path is a disk or another raw device."""
    return DISKS.fullmatch(path) is not None


def secret_by_name(path: str) -> bool:
    """Whether a name inside the worktree says that the file holds a secret."""
    names = _names(path)
    if not names:
        return False
    name = names[-1]
    if names[-2:] in SECRET_TAILS:
        return True
    if HARMLESS_SECRETS.fullmatch(name):
        return False
    if name in SECRET_DIRECTORIES or any(one.fullmatch(name) for one in SECRET_NAMES):
        return True
    parents: Iterable[str] = names[:-1]
    return any(one in SECRET_DIRECTORIES for one in parents) and not CODE_SUFFIX.fullmatch(name)


def guided(path: str) -> str:
    """Why a change of this file deserves a look, or ""."""
    folded = path.casefold()
    for pattern, why in GUIDED:
        if pattern.fullmatch(folded):
            return why
    return "holds what other programs obey" if GUIDED_PARENTS.fullmatch(folded) else ""


def guided_by_pattern(pattern: str) -> str:
    """Why a change of what the shell makes of a word with wildcards deserves a look, or "".

    Where the directory before the first wildcard says it, that counts; else samples tell. A star
    with only an ending, such as `*.md`, was aimed at none of them.
    """
    names = pattern.split("/")
    fixed = next((at for at, name in enumerate(names) if WILD.search(name)), len(names))
    if why := guided("/".join([*names[:fixed], "any"])):
        return why
    for sample in _GUIDED_SAMPLES:
        for start in range(max(0, len(names) - len(sample)), len(names)):
            if _may_become(names[start:], sample):
                return guided("/".join(sample).replace("*", "any"))
    return ""


def _may_become(names: list[str], sample: tuple[str, ...]) -> bool:
    """Whether names with wildcards can be those of a sample, or of a directory in it."""
    aimed = [name for name in names if re.search(r"^\.|[^*?.]", name.rpartition(".")[0] or name)]
    return (
        len(names) <= len(sample)
        and bool(aimed)
        and all(
            part == "*"
            or ((not part.startswith(".") or name.startswith((".", "["))) and may_be(name, part))
            for name, part in zip(names, sample, strict=False)
        )
    )


def below(path: str, parents: Iterable[str]) -> bool:
    """Whether an absolute path is one of some directories or lies below one."""
    return any(path == one or path.startswith(one + "/") for one in parents)


def _names(path: str) -> tuple[str, ...]:
    """Folded names of a path; trailing dots and blanks are dropped as some systems drop them."""
    return tuple(name.rstrip(". ") or name for name in path.casefold().split("/") if name)
