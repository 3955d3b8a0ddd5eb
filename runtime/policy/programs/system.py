"""Programs that no agent runs: rights, disks, the machine itself, and what outlives the run."""

from __future__ import annotations

import re

from ..decision import Decision
from ..reading import Touch, Verb
from ..words import listed
from .model import Found, Operands, Program, asking, table

_VETOED = (
    (
        "raises its own rights",
        """
        sudo su doas pkexec runuser sg newgrp sudoedit visudo gosu su-exec setpriv capsh setcap
        run0 machinectl kdesu gksudo newuidmap newgidmap
        """,
    ),
    (
        "leaves or rebuilds the sandbox",
        """
        chroot unshare nsenter pivot_root switch_root bwrap firejail runc crun systemd-run
        systemd-nspawn proot fakechroot schroot minijail0 nsjail mount umount fusermount
        fusermount3 losetup cryptsetup dmsetup swapon swapoff
        """,
    ),
    (
        "destroys or changes a disk",
        """
        mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted partprobe wipefs blkdiscard
        hdparm debugfs e2fsck fsck tune2fs resize2fs lvremove lvcreate vgremove pvremove mdadm
        zpool zfs btrfs badblocks nvme mknod
        """,
    ),
    (
        "outlives the run",
        """
        crontab at batch atd cron crond anacron systemctl service initctl launchctl rc-service
        rc-update update-rc.d chkconfig supervisorctl loginctl busctl dbus-send gdbus
        """,
    ),
    (
        "changes the machine",
        """
        reboot shutdown halt poweroff init telinit kexec insmod modprobe rmmod depmod sysctl dmesg
        iptables ip6tables nft ufw firewall-cmd ip ifconfig route tc brctl hostnamectl timedatectl
        hwclock grub-install update-grub efibootmgr bootctl setenforce auditctl bpftool bpftrace
        perf tcpdump tshark ldconfig update-alternatives chattr
        """,
    ),
    (
        "changes accounts",
        """
        passwd chpasswd useradd userdel usermod adduser deluser groupadd groupdel groupmod chsh
        chfn vipw vigr gpasswd pwck login chage
        """,
    ),
)
VETOED_PREFIXES = ("mkfs.", "fsck.", "mount.", "umount.")
"""Families of programs that are vetoed by the beginning of their name."""

_SYSTEM_PACKAGES = """
apt apt-get aptitude dpkg yum dnf rpm pacman zypper apk snap flatpak brew port nix nix-env guix
emerge conda mamba micromamba
"""
_KEYS = """
openssl gpg gpg2 ssh-keygen age certbot keytool secret-tool security keyctl ssh-keyscan
"""
_CONNECTS = frozenset({"s_client", "s_server", "s_time", "ocsp"})


def _keys(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Connections, and keys that leave their ring."""
    if _CONNECTS.intersection(args[:1]):
        found.network = True
        reason = "talks to another host"
        found.remark(Decision.ESCALATE, f"{program.name} {args[0]}", reason)
    if any(word.startswith(("--export-secret", "--keyserver", "--recv-k")) for word in args):
        reason = "gives away keys, or fetches some"
        found.remark(Decision.ESCALATE, f"{program.name} secret", reason)


_SQL_LOOKS = re.compile(
    r"\s*(\.(tables|schema|indexes|databases|headers?|mode|help|version)(\s+\w+)*"
    r"|(?i:select|explain|pragma\s+\w+\s*(\(\s*\w+\s*\))?\s*$)[^;]*;?)\s*",
    re.DOTALL,
)
_SQL_REACHES = re.compile(r"(?i)load_extension|writefile|readfile|edit\s*\(|attach|tokenizer|fsdir")
_SQLITE_OPTIONS = frozenset(
    listed(
        "-header -noheader -csv -json -line -column -table -box -markdown -list -readonly -batch"
    )
)


def _sqlite(program: Program, args: tuple[str, ...], found: Found) -> None:
    """A file of the worktree and questions to it; dot-commands can start a shell."""
    words = [word for word in args if word not in _SQLITE_OPTIONS]
    database, questions = words[:1], words[1:]
    plain = (
        bool(questions)
        and not words[0].startswith(("-", "file:"))
        and all(_SQL_LOOKS.fullmatch(one) and not _SQL_REACHES.search(one) for one in questions)
    )
    if not plain:
        reason = "can change data, reach outside or start other programs"
        found.remark(Decision.ASK, "sqlite3", f"sqlite3 {reason}")
        found.changes = True
    found.touches += [Touch(Verb.READ, word) for word in database]
    found.touches += [
        Touch(Verb.READ, word) for word in words if word.startswith(("/", "~", "../"))
    ]


_REACHING = """
xdg-open open osascript notify-send logger wall write mesg xclip xsel pbcopy pbpaste
wl-copy wl-paste import scrot convert magick inotifywait fc lsof ss netstat lsblk blkid mkfifo
ipcrm renice tput reset stty pandoc latex pdflatex gs gnuplot R octave jshell scala csc
mono swift ghci runghc ocaml erl iex elixir valgrind qemu-system-x86_64 VBoxManage virsh
"""

SYSTEM = table(
    *(
        Program(name, Decision.DENY, why, veto=True, operands=Operands.FREE)
        for why, names in _VETOED
        for name in names.split()
    )
)
DOUBTFUL = table(
    *asking(
        _SYSTEM_PACKAGES,
        "changes the system's packages",
        decision=Decision.ESCALATE,
        network=True,
    ),
    *asking("kill pkill killall skill fuser xkill", "ends processes"),
    *asking(_KEYS, "handles keys or secret data", operands=Operands.FREE, reader=_keys),
    Program("sqlite3", reads_only=True, raw=True, reader=_sqlite),
    *asking(_REACHING, "can reach outside or start other programs", operands=Operands.FREE),
)
