"""Programs that talk to other hosts. The cage has no network; what they would do still counts."""

from __future__ import annotations

import re

from ..decision import Decision
from ..reading import Touch, Verb
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Value,
    asks,
    escalates,
    flags,
    reads,
    runs,
    table,
    takes,
    writes,
)

_SENDS = "sends data to another host"


def _addresses(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.network = True
    for word in args:
        if re.match(r"(?i)file:/", word):
            found.touches.append(Touch(Verb.READ, "/" + word[5:].lstrip("/")))
            found.veto("file address", "reads a file of the system through an address")
        elif re.match(r"(?i)(gopher|dict|ldap|smb|tftp|telnet|ftp|scp|sftp|rtsp|imap|pop3|smtp|mqtt)s?:", word):
            found.remark(Decision.ESCALATE, f"{program.name} scheme", "an unusual scheme")
        if word.startswith("@") and len(word) > 1 and word != "@-":
            found.touches.append(Touch(Verb.READ, word[1:]))
    if program.name == "curl":
        for index, word in enumerate(args):
            if word in ("-X", "--request") and args[index + 1 : index + 2] not in ((), ("GET",), ("HEAD",)):
                found.remark(Decision.ESCALATE, "curl -X", _SENDS)


def _socket(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.network = True
    if any(
        word in ("--exec", "--sh-exec", "--lua-exec")
        or word.startswith(("--exec=", "--sh-exec="))
        or re.fullmatch(r"-[A-Za-z]*[ec]", word)
        or re.match(r"(?i)(exec|system|pty):", word)
        for word in args
    ):
        found.veto("reverse shell", "connects a program to another host")


def _cloud(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Clients of real infrastructure: looking asks, changing and credentials escalate."""
    found.network = True
    words = [word for word in args if not word.startswith("-")]
    looks = {"get", "describe", "list", "ls", "show", "status", "version", "plan", "validate", "fmt", "diff", "view", "logs", "config", "ps", "images", "inspect", "help", "info", "top", "checks", "providers", "output", "events", "search"}
    if any(word in ("auth", "token", "login", "secret", "secrets", "credential", "credentials", "ssh-key", "gpg-key") for word in words):
        found.remark(Decision.ESCALATE, f"{program.name} credential", "handles credentials")
    if not any(word in looks for word in words[:2]):
        found.remark(Decision.ESCALATE, f"{program.name} change", "changes something outside the sandbox")
        found.changes = True


def _docker(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.network = True
    found.changes = True
    text = " ".join(args)
    if "--privileged" in args or "docker.sock" in text or re.search(r"(-v|--volume)[= ]?/:|(--pid|--net|--network|--ipc|--userns|--uts)[= ]host|--cap-add|--device|source=/(,|$)|src=/(,|$)", text):
        found.veto("docker host", "gives a container the host")
    words = [word for word in args if not word.startswith("-")]
    if words[:1] and words[0] in ("login", "push", "exec", "cp", "swarm", "stack", "secret", "context", "volume", "system"):
        found.remark(Decision.ESCALATE, f"docker {words[0]}", "acts on containers outside the sandbox")


_CURL = (
    escalates(_SENDS, "-T", "--upload-file", "-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--data-ascii", "-F", "--form", "--form-string", "--json", value=Value.NEEDED),
    reads("-K", "--config", "-E", "--cert", "--key", "--cacert", "-b", "--cookie", "--netrc-file"),
    asks("sends the stored credentials", "-n", "--netrc"),
    Option(("--unix-socket", "--abstract-unix-socket"), Value.NEEDED, Verb.WRITE, decision=Decision.ESCALATE, why="talks to a local service"),
    writes("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--stderr", "--output-dir", "--etag-save", "--libcurl"),
    takes("-H", "--header", "-A", "--user-agent", "-e", "--referer", "-m", "--max-time", "--connect-timeout", "--retry", "-w", "--write-out", "-X", "--request", "-u", "--user", "-x", "--proxy", "--resolve", "--connect-to", "--url", "-r", "--range", "-y", "-Y", "-C", "--limit-rate"),
    flags(*(f"-{letter}" for letter in "fsSLvkIigOJ046#qNaGjlp")),
)
_NET = {"network": True, "operands": Operands.DATA}
_TALKS = "talks to another host"
NETWORK = table(
    Program("curl", Decision.ASK, _TALKS, options=_CURL, reader=_addresses, **_NET),  # type: ignore[arg-type]
    Program("wget", Decision.ASK, _TALKS, reader=_addresses, options=(
        writes("-O", "--output-document", "-o", "--output-file", "-a", "--append-output", "-P", "--directory-prefix", "--save-cookies"), reads("-i", "--input-file", "--load-cookies", "--certificate", "--private-key", "--config"),
        escalates(_SENDS, "--post-data", "--post-file", "--body-data", "--body-file", value=Value.NEEDED), runs("--use-askpass"), asks("changes a setting", "-e", "--execute", value=Value.NEEDED), takes("-t", "-T", "-U", "--header", "--tries", "--timeout"), flags("-q", "-c", "-N", "-r", "-k", "-p", "-v", "-S", "-nv", "-nc")), **_NET),  # type: ignore[arg-type]
    *(Program(name, Decision.ASK, _TALKS, reader=_addresses, **_NET) for name in ("http", "https", "xh", "aria2c", "lynx", "w3m", "links", "elinks", "ffmpeg", "ffprobe", "yt-dlp", "lftp", "axel", "httpie")),  # type: ignore[arg-type]
    *(Program(name, Decision.ESCALATE, _TALKS, **_NET) for name in ("ssh", "scp", "sftp", "mosh", "rsync", "ftp", "tftp", "telnet", "rlogin", "rsh", "autossh", "sshpass", "rclone", "mail", "mailx", "sendmail", "mutt", "swaks", "ssh-copy-id", "ssh-add", "ssh-agent", "ngrok", "cloudflared", "chisel")),  # type: ignore[arg-type]
    *(Program(name, Decision.ESCALATE, "a host name carries data out", **_NET) for name in ("dig", "nslookup", "host", "ping", "ping6", "traceroute", "tracepath", "mtr", "whois", "drill", "getent", "resolvectl", "arping", "nmap", "masscan")),  # type: ignore[arg-type]
    *(Program(name, Decision.ESCALATE, _TALKS, reader=_socket, **_NET) for name in ("nc", "ncat", "netcat", "socat", "openbsd-netcat", "nc.openbsd", "nc.traditional", "websocat")),  # type: ignore[arg-type]
    *(Program(name, Decision.ASK, "acts on real infrastructure", reader=_cloud, **_NET) for name in ("terraform", "tofu", "terragrunt", "pulumi", "ansible", "ansible-playbook", "kubectl", "helm", "oc", "aws", "gcloud", "gsutil", "az", "doctl", "flyctl", "fly", "heroku", "vercel", "netlify", "wrangler", "gh", "glab", "hub", "vault", "op", "consul", "nomad", "eksctl", "kustomize", "argocd", "firebase", "supabase", "bw", "pass", "sops", "serverless", "cdk")),  # type: ignore[arg-type]
    *(Program(name, Decision.ASK, "acts on containers outside the sandbox", reader=_docker, **_NET) for name in ("docker", "podman", "nerdctl", "docker-compose", "buildah", "ctr", "crictl", "lxc", "skopeo")),  # type: ignore[arg-type]
    *(Program(name, Decision.ASK, "acts on a database", **_NET) for name in ("psql", "mysql", "mariadb", "mongosh", "mongo", "redis-cli", "pg_dump", "pg_restore", "mysqldump", "dropdb", "createdb", "sqlcmd", "clickhouse-client", "cqlsh", "influx")),  # type: ignore[arg-type]
)
