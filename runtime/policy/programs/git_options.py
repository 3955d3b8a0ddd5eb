"""Options of git's reading subcommands, and the subcommands that change something."""

from __future__ import annotations

from .model import Value, asks, flags, joined, letters, runs, takes, writes

SHOWN = (
    letters("abcdefghilmprstuvwzBCDERWX123"),
    flags("--stat --shortstat --numstat --summary --oneline --patch --no-patch --name-only"),
    flags("--name-status --cached --staged --graph --all --decorate --no-decorate --reverse"),
    flags("--merges --no-merges --first-parent --follow --no-color --raw --check --word-diff"),
    flags("--no-ext-diff --no-textconv --minimal --patience --histogram --no-renames --quiet"),
    flags("--exit-code --full-index --binary --text --ignore-all-space --ignore-space-change"),
    flags("--ignore-blank-lines --no-prefix --merge-base --left-right --cherry-pick --boundary"),
    flags("--topo-order --date-order --parents --children --no-notes --no-walk --abbrev-commit"),
    flags("--no-abbrev-commit --pretty --long --branch --show-stash --ahead-behind --root"),
    flags("--no-ahead-behind --line-porcelain --incremental --show-email --show-name --others"),
    flags("--show-number --modified --deleted --stage --exclude-standard --error-unmatch"),
    flags("--full-name --unmerged --killed --directory --eol --show-toplevel --show-prefix"),
    flags("--show-cdup --git-dir --is-inside-work-tree --verify --symbolic-full-name --count"),
    flags("--name-rev --always --dirty --email --numbered --no-pager --help --show-current"),
    flags("--list --no-column --cc --dense --full-history --simplify-merges --no-relative"),
    flags("--clear-decorations --absolute-git-dir --is-bare-repository --cherry --left-only"),
    flags("--right-only --no-indent-heuristic --no-rename-empty --oneline --no-commit-id --heads"),
    flags("--function-context --pickaxe-all --pickaxe-regex --full-diff --ancestry-path --sparse"),
    flags("--cherry-mark --simplify-by-decoration --show-pulls --mailmap --no-mailmap --sparse"),
    flags("--ignore-space-at-eol --ignore-cr-at-eol --compact-summary --no-color-moved --hash"),
    flags("--dereference --is-inside-git-dir --is-shallow-repository --git-common-dir --no-short"),
    flags("--sum --independent --is-ancestor --octopus --fork-point --no-revs --revs-only"),
    joined("--color-moved --color-moved-ws --word-diff-regex --stat-width --stat-count"),
    joined("--max-age --min-age --min-parents --max-parents --line-prefix --no-contains"),
    joined("--format --abbrev --color --color-words --porcelain --untracked-files --ignored"),
    joined("--date --relative --find-renames --find-copies --dirstat --unified --sort"),
    joined("--inter-hunk-context --diff-filter --diff-algorithm --submodule --column --since"),
    joined("--until --after --before --author --committer --grep --max-count --skip --short"),
    joined("--abbrev-ref --ignore-submodules --branches --tags --remotes --exclude --glob"),
    joined("--ws-error-highlight --src-prefix --dst-prefix --contains --points-at --merged"),
    joined("--no-merged --match --candidates --encoding --notes --decorate-refs"),
    takes("-n -U -S -G -L -M -O"),
    writes("--output -o"),
    asks("runs programs named in the configuration", "--ext-diff --textconv --filters"),
    asks("runs a program to check signatures", "--show-signature"),
    asks("reads files that are not of the repository", "--no-index"),
    runs("--open-files-in-pager", Value.JOINED),
)

WRITING = {
    "talks to a remote": """
        fetch pull clone ls-remote archive submodule send-email request-pull fetch-pack send-pack
        svn p4 cvsimport lfs daemon instaweb http-fetch http-push imap-send
        """,
    "discards work or changes the tree": """
        reset restore clean rm mv merge cherry-pick revert sparse-checkout
        checkout-index rerere apply am
        """,
    "rewrites commits and can run commands": "rebase bisect filter-branch filter-repo",
    "removes what nothing refers to": "gc prune repack maintenance",
    "moves or deletes references": "update-ref symbolic-ref",
    "makes history show other content": "replace",
    "makes a repository, from a template that can hold hooks": "init",
    "starts a program": "difftool mergetool gui web--browse shell hook citool",
    "changes the index or writes objects": """
        update-index read-tree write-tree commit-tree hash-object fast-import mktree mktag
        pack-objects index-pack unpack-objects
        """,
    "prints the whole history or writes files": "fast-export bundle format-patch",
    "prints credentials": "credential credential-store credential-cache",
}
