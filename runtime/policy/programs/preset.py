"""The engineering tools that a new workspace may run, unless its operator says otherwise.

To be here is to be known, not to be let run: what talks to others or can do harm is asked for by
its table, so that a person hears of it instead of nobody.
"""

from __future__ import annotations

from ..words import listed

DEFAULT_PROGRAMS: frozenset[str] = frozenset(
    listed("""
    python python3 pytest py.test pip pip3 uv uvx poetry pipenv pdm hatch tox nox
    node npm npx yarn pnpm bun deno tsc eslint prettier jest vitest mocha
    make cmake ctest ninja meson just bazel gcc g++ cc c++ clang clang++ ld ar nm objdump
    cargo rustc rustfmt go gofmt java javac jar mvn gradle ant sbt kotlinc dotnet
    ruby perl php lua bundle rake rspec gem composer
    ruff mypy black flake8 isort pylint pyright coverage bandit shellcheck yamllint pre-commit
    clang-format clang-tidy golangci-lint sphinx-build mkdocs django-admin alembic
    git ls cat tac head tail wc sort uniq cut paste join comm tr nl fold fmt column rev
    grep egrep fgrep rg ag find fd sed awk gawk mawk diff cmp patch
    echo printf true false test [ pwd date sleep seq expr yes basename dirname realpath readlink
    stat file du df tree which whereis uname hostname whoami id nproc arch locale
    mkdir rmdir touch cp mv rm ln chmod install truncate split tee xargs env timeout nice time
    stdbuf nohup setsid printenv ps kill tar gzip gunzip zcat bzip2 xz zstd zip unzip
    jq yq base64 xxd od hexdump strings md5sum sha1sum sha256sum sha512sum cksum
    sqlite3 sh bash dash docker

    command type free uptime cal groups tty tac egrep base32 b2sum hexdump csplit expand unexpand
    less more mktemp dd rsync link unlink bunzip2 unxz zgrep bzcat xzcat zstdcat fdfind ionice watch
    gawk nawk nodejs ts-node tsx pypy pypy3 gmake clang-check as strip ranlib readelf size gfortran
    javadoc scalac kotlin lein invoke task doit scons pants rubocop phpunit phpcs phpstan
    gofmt goimports staticcheck shfmt stylua taplo hadolint markdownlint actionlint codespell
    vulture cloc tokei scc ctags cppcheck typos sqlfluff radon lizard djlint
    basedpyright pyflakes pycodestyle pydocstyle autopep8 yapf autoflake biome stylelint oxlint
    knip ava tap cypress playwright vite webpack rollup esbuild next nuxt astro turbo nx lerna swc
    babel import-linter lint-imports cucumber behave robot locust ty pyrefly deptry interrogate

    curl wget gh glab podman docker-compose kubectl helm terraform aws gcloud
    psql mysql redis-cli openssl ssh-keygen
    """)
)
