"""Programs that do whatever their arguments, input or a file say: a rule only matches them exactly.

Sources: GTFOBins, for the names that run other programs; the manuals of package managers.
"""

_SHELLS = """
sh bash dash zsh fish ksh csh tcsh ash rbash posh sash yash elvish nu xonsh mksh slsh busybox toybox pwsh
osascript tmate tmux screen dtach abduco byobu byebug bashbug
"""
_INTERPRETERS = """
python pypy ipython bpython pdb node nodejs deno bun tsx ts-node ruby irb pry perl perlbug php lua luajit r
rscript julia java jshell jjs jrunscript groovy scala kotlin tclsh wish expect ghc ghci runghc guile clisp
sbcl racket elixir iex erl escript octave gnuplot gimp ginsh maxima dc awk gawk mawk nawk sed m4 eb gdb lldb
strace ltrace bpftrace rlwrap perf valgrind scanmem genie cobc msfconsole volatility tshark wireshark nmap
knife opencode code codex dart nim raku crystal janet sbt amm ant lein clojure clj invoke inv fab jupyter
papermill pre-commit lefthook bazelisk pants flask django-admin gunicorn uvicorn celery
"""
_EDITORS_AND_PAGERS = """
ed ex vi vim view rview rvim nvim vimdiff vigr vipw emacs nano pico rnano jove jed joe mcedit red less
lessecho more most man zless zmore batcat bat pg choom cowsay cowthink ranger mc nnn lf yum fzf sk
journalctl systemctl loginctl timedatectl busctl systemd-resolve
"""
_WRAPPERS = """
env xargs parallel sudo doas pkexec unshare firejail setpriv nohup nice ionice chrt cpulimit softlimit
multitime timeout stdbuf unbuffer setsid time watch distcc ccache torify torsocks proxychains fakeroot eval
exec command builtin npx pnpx bunx uvx
"""
_STARTERS = """
su sg ksu runuser pexec chroot nsenter capsh setarch linux32 linux64 arch-nspawn taskset script scriptreplay
flock setlock logsave aa-exec run-parts run-mailcap runscript start-stop-daemon service entr direnv dotenv
coproc faketime xdotool concurrently cross-env cross-env-shell env-cmd nodemon watchexec chokidar onchange
npm-run-all npm-run-all2 run-s run-p turbo nx lerna rush lage moon foreman honcho pm2 forever supervisord
supervisor reflex gow air wtr dotenvx doppler chamber aws-vault envchain tini dumb-init gosu su-exec
tasksh ld.so split csvtool hyperfine source . trap alias
enable hash set shopt export read mapfile readarray getopts cd pushd popd let test [ printf
"""
_REMOTE = """
ssh scp sftp sshfs sshpass sshuttle ssh-agent ssh-keygen rsync mosh mosh-server nc ncat socat socket telnet
ftp lftp tftp psftp ncftp aria2c rtorrent yt-dlp smbclient openvpn openvt openssl at batch crontab atd
systemd-run docker-compose docker-machine lxd lxc vagrant ansible ansible-playbook ansible-test aws gcloud
az terraform pulumi puppet salt chef virsh qemu-img certbot dhclient dnsmasq nginx mail mutt procmail
tcpdump hping3 iftop dstat wg-quick fail2ban-client check_by_ssh check_ssl_cert needrestart facter neofetch
fastfetch minicom asterisk
"""
_BUILDERS = """
cpan cpanm easy_install pipx gem rustup rustc gcc cc c89 c99 g++ clang latex latexmk tex
pdftex pdflatex xelatex lualatex luatex xetex pandoc pic nroff troff cdist cmake meson ninja autoconf
autoheader autoreconf acr bazel buck scons forge gtester rebar3 mix cabal stack opam luarocks easyrsa
logrotate ldconfig rpm rpmdb rpmquery rpmverify dpkg cpio ffmpeg exiftool enscript dvips scrot zathura
ispell aspell mysql psql sqlite3 sqlmap bconsole bee borg restic rc crash debugfs dmesg dmsetup elf hg
msgfilter plymouth sysctl tdbtool top jtag agetty ctr grc rsyslogd xdg-user-dir zic pidstat nroff ncdu ip
lxc-attach tic
"""
_PACKAGE_MANAGERS = """
apt apt-get aptitude dnf dnf5 yum zypper pacman yay paru apk snap flatpak brew port opkg emerge pkg pkg_add
conda mamba micromamba pixi nix nix-env nix-shell nix-build guix choco winget scoop asdf mise rtx nvm fnm
volta corepack helm krew rye bower jspm wheel twine virtualenv pyenv rbenv sdk aoss apport-cli xbps-install
"""

WRAPPERS = frozenset(_WRAPPERS.split())
"""They run the command in their arguments, after flags, numbers and assignments."""
RUNNERS = WRAPPERS | frozenset(
    (
        _SHELLS + _INTERPRETERS + _EDITORS_AND_PAGERS + _STARTERS + _REMOTE + _BUILDERS + _PACKAGE_MANAGERS
    ).split()
)
