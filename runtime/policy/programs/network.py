"""Programs that talk to other hosts. By itself the cage has no network; what they would do counts."""

from __future__ import annotations

import re

from .. import addresses
from ..decision import Decision
from ..hosts import is_own
from ..reading import Touch, Verb
from ..words import listed
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Value,
    asking,
    asks,
    escalates,
    flags,
    follows,
    letters,
    reads,
    runs,
    table,
    takes,
    writes,
)

_SENDS = "sends data to another host"
_TALKS = "talks to another host"
_UNUSUAL = re.compile(
    r"(?i)(gopher|dict|ldap|smb|tftp|telnet|ftp|scp|sftp|rtsp|imap|pop3|smtp|mqtt)s?:"
)


def _addresses(program: Program, args: tuple[str, ...], found: Found) -> None:
    for index, word in enumerate(args):
        if re.match(r"(?i)file:/", word):
            found.touches.append(Touch(Verb.READ, "/" + word[5:].lstrip("/")))
            found.veto("file address", "reads a file of the system through an address")
        elif _UNUSUAL.match(word):
            found.remark(Decision.ESCALATE, f"{program.name} scheme", "an unusual scheme")
        if word.startswith("@") and len(word) > 1 and word != "@-":
            found.touches.append(Touch(Verb.READ, word[1:]))
        if program.name == "curl":
            _method(word, args[index + 1 : index + 2], found)
        _own_hosts(program, word, found)


def _method(word: str, after: tuple[str, ...], found: Found) -> None:
    given = re.fullmatch(r"(?:-[A-Za-z]*X|--request)=?(.*)", word)
    if given and (given[1] or "".join(after)).upper() not in ("GET", "HEAD", "OPTIONS"):
        found.remark(Decision.ESCALATE, "curl -X", _SENDS)


_METADATA = re.compile(r"169\.254\..*|metadata(\..*)?|instance-data(\..*)?|fd00:ec2::254")


def _own_hosts(program: Program, word: str, found: Found) -> None:
    """The cloud's metadata is nobody's to give; other hosts of the network are looked at."""
    for host in addresses.in_words((word,), network=True):
        if _METADATA.fullmatch(host):
            found.veto("metadata", f"{host} gives away the machine's credentials")
        elif is_own(host) and not (host == "localhost" or host.startswith("127.") or host == "::1"):
            reason = f"{host} may be a host of the private network"
            found.remark(Decision.ESCALATE, f"{program.name} private host", reason)


def _socket(program: Program, args: tuple[str, ...], found: Found) -> None:
    """A program at the end of a connection is a way in."""
    for word in args:
        named = word.partition("=")[0] in ("--exec", "--sh-exec", "--lua-exec")
        if (
            named
            or re.fullmatch(r"-[A-Za-z]*[ec]", word)
            or re.search(r"(?i)\b(exec|system|pty):", word)
        ):
            found.veto("reverse shell", "connects a program to another host")


_CREDENTIALS = frozenset(
    listed("""
    auth token login secret secrets credential credentials ssh-key gpg-key password
    get-login-password get-secret-value get-session-token assume-role print-access-token
    """)
)
_LOOKS = frozenset(
    listed("""
    get describe list ls show status version plan validate fmt diff view logs config ps images lint
    template
    inspect help info top checks providers output events search init
    """)
)


def cloud(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Clients of real infrastructure: looking asks, changing and credentials escalate."""
    words = [word for word in args if not word.startswith("-")]
    if _CREDENTIALS.intersection(words):
        found.remark(Decision.ESCALATE, f"{program.name} credential", "handles credentials")
    if not _LOOKS.intersection(words[:2]):
        reason = "changes something outside the sandbox"
        found.remark(Decision.ESCALATE, f"{program.name} change", reason)


_HOST_ACCESS = re.compile(
    r"--privileged|docker\.sock|(-v|--volume)[= ]?/:|(--pid|--net|--network|--ipc|--userns|--uts)"
    r"[= ]host|--cap-add|--device|--security-opt|(source|src)=/(,|\s|$)"
)
DOCKER_REMOTE = frozenset(listed("login push exec cp swarm stack secret context volume system"))


def _docker(program: Program, args: tuple[str, ...], found: Found) -> None:
    if _HOST_ACCESS.search(" ".join(args)):
        found.veto("docker host", "gives a container the host")
    first = next((word for word in args if not word.startswith("-")), "")
    if first in DOCKER_REMOTE:
        found.remark(Decision.ESCALATE, f"docker {first}", "acts on containers outside the sandbox")


def _rsync(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Between directories of the worktree a copy like any other."""
    words = found.operands
    if any(":" in word for word in words):
        found.remark(Decision.ESCALATE, "rsync host", "rsync talks to another host")
        found.network = True
    found.changes = True
    found.touches += [Touch(Verb.READ, word, deep=True) for word in words[:-1] or words]
    found.touches += [Touch(Verb.WRITE, word, deep=True) for word in words[1:][-1:]]


_RSYNC = (
    letters("avrlptgoDzPnuhcqixHAXEmRWS0"),
    follows("-L -k --copy-links --copy-dirlinks --copy-unsafe-links"),
    flags("--archive --verbose --recursive --dry-run --progress --stats --update --checksum"),
    flags("--times --perms --links --human-readable --itemize-changes --compress"),
    flags("--ignore-existing --existing --prune-empty-dirs --partial --inplace --whole-file"),
    takes("--exclude --include --filter -f --max-size --min-size --bwlimit --info --out-format"),
    reads("--exclude-from --include-from --files-from --compare-dest --copy-dest --link-dest"),
    writes("--log-file --backup-dir --partial-dir --temp-dir -T --write-batch"),
    asks("removes what the source does not have", "--remove-source-files --del"),
    Option(
        tuple(listed("--delete --delete-after --delete-before --delete-during --delete-excluded")),
        decision=Decision.ASK,
        why="removes what the source does not have",
    ),
    escalates("runs another program", "-e --rsh --rsync-path", Value.NEEDED),
)
_CURL = (
    escalates(
        _SENDS,
        "-T --upload-file -d --data --data-binary --data-raw --data-urlencode --data-ascii"
        " -F --form --form-string --json",
        Value.NEEDED,
    ),
    reads("-K --config -E --cert --key --cacert -b --cookie --netrc-file"),
    asks("sends the stored credentials", "-n --netrc"),
    Option(
        ("--unix-socket", "--abstract-unix-socket"),
        Value.NEEDED,
        Verb.WRITE,
        decision=Decision.ESCALATE,
        why="talks to a local service",
    ),
    writes("-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr"),
    writes("--output-dir --etag-save --libcurl --hsts --alt-svc"),
    takes("-H --header -A --user-agent -e --referer -m --max-time --connect-timeout --retry"),
    takes("-w --write-out -X --request -u --user -x --proxy --resolve --connect-to --url"),
    takes("-r --range -y -Y -C --limit-rate"),
    letters("fsSLvkIigOJ046#qNaGjlp"),
)
_WGET = (
    writes("-O --output-document -o --output-file -a --append-output -P --directory-prefix"),
    writes("--save-cookies"),
    reads("-i --input-file --load-cookies --certificate --private-key --config"),
    escalates(_SENDS, "--post-data --post-file --body-data --body-file", Value.NEEDED),
    runs("--use-askpass"),
    asks("changes a setting", "-e --execute", Value.NEEDED),
    takes("-t -T -U --header --tries --timeout"),
    letters("qcNrkpvS"),
)
_FETCHERS = """
http https xh aria2c lynx w3m links elinks ffmpeg ffprobe yt-dlp youtube-dl lftp axel httpie
newman grpcurl
"""
_REMOTE = """
ssh scp sftp mosh ftp tftp telnet rlogin rsh autossh sshpass rclone mail mailx sendmail mutt
swaks ssh-copy-id ssh-add ssh-agent ngrok cloudflared chisel unison croc magic-wormhole wormhole
"""
_NAMES = """
dig nslookup host ping ping6 traceroute tracepath mtr whois drill getent resolvectl arping nmap
masscan kdig delv hping3 fping avahi-resolve
"""
_SOCKETS = "nc ncat netcat socat nc.openbsd nc.traditional websocat socket"
_CLOUDS = """
terraform tofu terragrunt pulumi ansible ansible-playbook kubectl helm oc aws gcloud gsutil az
doctl flyctl fly heroku vercel netlify wrangler gh glab hub vault op consul nomad eksctl
kustomize argocd firebase supabase bw pass sops serverless cdk sam packer vagrant
"""
_CONTAINERS = "docker podman nerdctl docker-compose buildah ctr crictl lxc skopeo"
_DATABASES = """
psql mysql mariadb mongosh mongo redis-cli pg_dump pg_restore mysqldump dropdb createdb sqlcmd
clickhouse-client cqlsh influx
"""

NETWORK = table(
    *asking("curl", _TALKS, *_CURL, network=True, reader=_addresses),
    *asking("wget", _TALKS, *_WGET, network=True, reader=_addresses),
    *asking(_FETCHERS, _TALKS, network=True, reader=_addresses),
    *asking(_REMOTE, _TALKS, network=True, decision=Decision.ESCALATE),
    Program("rsync", operands=Operands.DATA, strict=True, options=_RSYNC, reader=_rsync),
    *asking(_NAMES, "a host name carries data out", network=True, decision=Decision.ESCALATE),
    *asking(_SOCKETS, _TALKS, network=True, decision=Decision.ESCALATE, reader=_socket),
    *asking(_CLOUDS, "acts on real infrastructure", network=True, reader=cloud),
    *asking(
        _CONTAINERS,
        "acts on containers outside the sandbox",
        network=True,
        operands=Operands.FREE,
        reader=_docker,
    ),
    *asking(_DATABASES, "acts on a database", network=True),
)
