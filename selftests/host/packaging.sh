#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The packages: "make deb" in a copy, lintian, what is in them, and that none of it
# changes a default; the module that DKMS builds from them for each kernel, signed as
# for Secure Boot, carries a transfer between agents that the units' commands start,
# and is refused where the kernel trusts no key of it.
#
#	h1 --- s1 --- r		in the VM
#
# check-all: host
# usual: 150
# set by name in lib.sh or used by eval; functions that check calls
# shellcheck disable=SC2034,SC2128,SC2154,SC2317
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"

# unit FILE NAME: the command NAME, ExecStart or ExecStop, of a unit, with our command
unit() { sed -n "s#^$2=-\\?/usr/sbin/hpccpp#$HPCCPP#p" "$1"; }

# In the VM, with what was unpacked in the directory named: says what works.
if [[ ${1-} == inside ]]; then
	set -e
	units=$2/lib/systemd/system
	load_hpccpp
	echo "loaded $(modinfo -F version "$HPCCPP_KO"), signed by $(modinfo -F signer "$HPCCPP_KO")"
	before=$(sysctl -n net.ipv4.tcp_congestion_control)
	sysctl -qp "$2/usr/share/doc/hpccpp/examples/sysctl.d/hpccpp.conf"
	echo "default $(sysctl -n net.ipv4.tcp_congestion_control)"
	topo_line 1 1
	make_cgroup
	OPTIONS="records 2"
	# as systemd does: variables that are not in braces are split into words
	eval "$(unit "$units/hpccpp-host.service" ExecStart)"
	OPTIONS="base-rtt ${RTT_US}us"
	for port in "${ports[@]}"; do
		read -r ns dev <<<"$port"
		eval "nsenter --net=/run/netns/$ns $(unit "$units/hpccpp-port@.service" ExecStart |
			sed "s/%I/$dev/g")"
	done
	tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 1m"
	jq -r '"sent \(.sent)"' <<<"$client"
	[[ $(counter "$h1" updates) -gt 20 ]] && echo "by telemetry"
	for port in "${ports[@]}"; do
		read -r ns dev <<<"$port"
		eval "nsenter --net=/run/netns/$ns $(unit "$units/hpccpp-port@.service" ExecStop |
			sed "s/%I/$dev/g")"
		[[ $("$HPCCPP" -j port show netns "$ns" | jq length) -eq 0 ]] && echo "port stopped"
	done
	eval "$(unit "$units/hpccpp-host.service" ExecStop)"
	[[ $("$HPCCPP" -j host show | jq length) -eq 0 ]] && echo "host stopped"
	topo_down
	sysctl -qw "net.ipv4.tcp_congestion_control=$before"
	busywait 10 rmmod tcp_hpccpp
	module_loaded=

	mount -t securityfs securityfs /sys/kernel/security
	echo integrity >/sys/kernel/security/lockdown
	{ insmod "$HPCCPP_KO" 2>&1 || true; } | grep -o 'Operation not permitted'
	dmesg | grep -o 'unsigned module loading is restricted'
	OPTIONS=
	eval "$(unit "$units/hpccpp-host.service" ExecStart)"
	eval "$(unit "$units/hpccpp-host.service" ExecStop)"
	echo "agent in lockdown"
	rmdir "$CGROUP"
	CGROUP=
	exit
fi

# In the VM, installs the package that is named, adds agents, and removes it: prints what is left.
if [[ ${1-} == remove ]]; then
	set -e
	left()
	{
		echo "$1: $(bpftool prog | grep -c ' name hpccpp_')," \
			"module: $(grep -c ^tcp_hpccpp /proc/modules)"
	}
	dpkg_here() { dpkg --admindir="$tmp/dpkg" --log=/dev/null --force-depends "$@" >&2; }
	mkdir -p "$tmp"/dpkg/{info,updates}
	touch "$tmp/dpkg/status"
	dpkg_here --install "$2"
	HPCCPP=/usr/sbin/hpccpp
	load_hpccpp
	module_loaded=
	topo_line 1 1
	host_on "$h1"
	host_on "$r"
	ports_on
	unshare -n bash -c 'ip link add dum0 up type dummy; sleep 1000' &
	nameless=(nsenter "--net=/proc/$!/ns/net")
	busywait 10 "${nameless[@]}" tc qdisc replace dev dum0 root fq 2>/dev/null
	"${nameless[@]}" hpccpp cnp add dum0 rate 1gbit accept fd00::/64
	mkdir -p "/sys/fs/cgroup/with space"
	hpccpp host add "/sys/fs/cgroup/with space"
	left "programs of agents"
	dpkg_here --install "$2"
	left "after an upgrade"
	dpkg_here --remove hpccpp
	left "after the removal"
	HPCCPP=:
	exit
fi

# shellcheck disable=SC2053 # the text is a pattern
says() { [[ $(<"$1") == $2 ]] || { cat "$1"; false; }; }
lists() { diff <(tr -d '\t' <<<"$2" | sed '/^$/d' | sort) <(sort "$1"); }

# 6.12 has its module and its VM in the test "kernels", so here with LONG=1 only
kernels=(6.1 ${LONG:+6.12})
echo TAP version 13
declare -A tree=()
for series in "${kernels[@]}"; do
	tree[$series]=$(realpath "$("$top/scripts/vm/kernel.sh" "$series")") || exit
done
src=$tmp/src
copy_sources "$src"
cp "$top/COPYING" "$top/README.md" "$src"
find "$src" -maxdepth 1 >"$tmp/before"

# --- Debian ------------------------------------------------------------------

check "make deb" env DEB_BUILD_OPTIONS=noautodbgsym \
	make -C "$src" deb
check "... leaves the top as it is" diff "$tmp/before" \
	<(find "$src" -maxdepth 1 ! -name .build)
check "lintian finds no error" lintian --allow-root --fail-on error "$src"/.build/deb/*.changes
version=$(sed -n 's/^MODULE_VERSION("\(.*\)");/\1/p' "$top/kmod/hpccpp_main.c")
for package in hpccpp tcp-hpccpp-dkms; do
	dpkg-deb -R "$src/.build/deb/${package}_${version}"_*.deb "$tmp/$package"
	( cd "$tmp/$package" && find . -type f ! -path './DEBIAN/*' ! -path './usr/share/doc/*' |
		cut -c 2- ) >"$tmp/$package.list"
done
manual()
{
	local page
	for page in "$src"/tools/man/*.[178]; do
		[[ ! -e $page ]] || echo "/usr/share/man/man${page##*.}/${page##*/}.gz"
	done
	[[ ! -e $src/tools/hpccpp.bash-completion ]] ||
		echo /usr/share/bash-completion/completions/hpccpp
}
check "hpccpp: command, manual and units" lists "$tmp/hpccpp.list" \
	"/usr/sbin/hpccpp
$(manual)
	/lib/systemd/system/hpccpp-cnp@.service
	/lib/systemd/system/hpccpp-host.service
	/lib/systemd/system/hpccpp-port@.service
	/lib/systemd/system/hpccpp-watch.service"
doc=$tmp/hpccpp/usr/share/doc/hpccpp
check "... and examples" diff <(cd "$doc/examples" && find . -type f | sort) - <<-'END'
	./hpccpp.lua
	./modules-load.d/hpccpp.conf
	./prometheus/hpccpp-alerts.test.yml
	./prometheus/hpccpp-alerts.yml
	./prometheus/hpccpp-dashboard.json
	./sysctl.d/hpccpp.conf
END
dkms_source=/usr/src/tcp-hpccpp-$version
check "tcp-hpccpp-dkms: what the module is built from" lists "$tmp/tcp-hpccpp-dkms.list" \
	"$dkms_source/dkms.conf
	$(cd "$src/kmod" && find . -type f ! -name '*.rst' ! -name '*.md' | sed "s#^\.#$dkms_source#")"
# A root of its own to install into; the scripts run here, but for that root.
root=$tmp/root
dpkg_there() { dpkg --root="$root" --log=/dev/null --force-script-chrootless --force-depends "$@"; }
mkdir -p "$root"/{etc,var/lib/dpkg/{info,updates}}
touch "$root/var/lib/dpkg/status"
check "dpkg --install hpccpp" dpkg_there --install "$src/.build/deb/hpccpp_${version}"_*.deb
check "... the command is there" [ -x "$root/usr/sbin/hpccpp" ]
check "... nothing is enabled or set" says <(find "$root/etc" -type f -o -type l) ""
check "dpkg --purge hpccpp" dpkg_there --purge hpccpp
check "... nothing of it is left" says \
	<(find "$root" -path "$root/var/lib/dpkg" -prune -o -name '*hpccpp*' -print) ""
# shellcheck disable=SC2097,SC2098 # for the command alone
PLACE=vm HPCCPP_KO=$top/.build/6.1/kmod/tcp_hpccpp.ko "$top/scripts/vm/vm.sh" -k 6.1 --timeout 600 -- \
	"$0" remove "$src/.build/deb/hpccpp_${version}"_*.deb >"$tmp/vm" 2>"$tmp/vm.err" ||
	cat "$tmp/vm.err" >&2
check "a removal deletes all agents and unloads the module, an upgrade does not" says "$tmp/vm" \
	"programs of agents: 7, module: 1
after an upgrade: 7, module: 1
after the removal: 0, module: 0"
# What the package's script tells systemd, after what debhelper has put there
printf '#!/bin/sh\necho "$@"\n' >"$tmp/systemctl"
chmod +x "$tmp/systemctl"
# shellcheck disable=SC2016 # for sh
told() # ARGUMENTS of the script
{
	sed -n '/^# The agents that run/,$p' "$tmp/hpccpp/DEBIAN/postinst" | unshare -m sh -ec '
		mount -t tmpfs none /run
		mkdir -p /run/systemd/system
		PATH=$0:$PATH exec sh -es "$@"' "$tmp" "$@"
}
check "an upgrade replaces the agents of units that are active" says <(told configure 0.0) \
	"daemon-reload
try-reload-or-restart hpccpp-host.service hpccpp-port@\*.service hpccpp-cnp@\*.service hpccpp-watch.service"
check "... an installation does nothing of that kind" says <(told configure) ""
for unit in "$tmp"/hpccpp/lib/systemd/system/hpccpp-{cnp@,host,port@}.service; do
	check "${unit##*/}: a reload does as a start does" [ "$(unit "$unit" ExecReload)" = "$(unit "$unit" ExecStart)" ]
done
scripts=$tmp/tcp-hpccpp-dkms/DEBIAN
check "tcp-hpccpp-dkms has DKMS build" grep -q common.postinst "$scripts/postinst"
harmless() { ! grep -rE 'modprobe|insmod|sysctl|systemctl' "$scripts"; }
check "... and neither loads nor sets anything" harmless
check "the example for modules-load.d names the module" \
	[ "$(grep -v '^#' "$doc/examples/modules-load.d/hpccpp.conf")" = tcp_hpccpp ]
if command -v systemd-analyze >/dev/null; then
	cp "$tmp"/hpccpp/lib/systemd/system/*.service "$tmp/"
	sed -i "s#/usr/sbin/hpccpp #$tmp/hpccpp&#" "$tmp"/*.service
	mv "$tmp/hpccpp-port@.service" "$tmp/hpccpp-port@swp1.service"
	mv "$tmp/hpccpp-cnp@.service" "$tmp/hpccpp-cnp@eth0.service"
	check "systemd-analyze verify has nothing to say of the units" says \
		<(systemd-analyze verify --man=no "$tmp"/*.service 2>&1) ""
else
	ktap_skip "systemd-analyze verify" "there is none here"
fi

# --- DKMS --------------------------------------------------------------------

# Trees and a key of our own: nothing of this machine's DKMS is touched.
dkms()
{
	env sign_file="$sign_file" mok_signing_key="$tmp/mok.key" mok_certificate="$tmp/mok.pub" \
		dkms "$1" "tcp-hpccpp/$version" -k "$release/x86_64" \
		--kernelsourcedir "${tree[$series]}/build" --dkmstree "$tmp/dkms" \
		--sourcetree "$tmp/tcp-hpccpp-dkms/usr/src" --installtree "$tmp/modules" \
		--no-depmod --config "${tree[$series]}/build/.config"
}

mkdir "$tmp/dkms"
for series in "${kernels[@]}"; do
	release=$(<"${tree[$series]}/release")
	sign_file=$(find "${tree[$series]}/usr/lib/" -name sign-file)
	mkdir -p "$tmp/modules/$release"
	check "$series: dkms build" dkms build
	check "$series: dkms install" dkms install
	ko=$tmp/modules/$release/updates/dkms/tcp_hpccpp.ko
	check "$series: ... for that kernel" \
		grep -q "^$release " <(modinfo -F vermagic "$ko")
	# shellcheck disable=SC2097,SC2098 # for the command alone
	PLACE=vm HPCCPP_KO=$ko HPCCPP=$tmp/hpccpp/usr/sbin/hpccpp "$top/scripts/vm/vm.sh" -k "$series" \
		--timeout 1000 -- "$0" inside "$tmp/hpccpp" >"$tmp/vm" 2>"$tmp/vm.err" || cat "$tmp/vm.err" >&2
	check "$series: loaded, the default by the example, used by the units' commands, refused in lockdown" \
		says "$tmp/vm" "loaded $version, signed by DKMS module signing key
default hpccpp
sent 1000000
by telemetry
port stopped
port stopped
host stopped
Operation not permitted
unsigned module loading is restricted
agent in lockdown"
done
# A kernel's make that prints LLVM and whether it adds BTF, where .config says that clang built
# the kernel
mkdir -p "$tmp/kdir/include"
printf '%s\n' CONFIG_DEBUG_INFO_BTF_MODULES=y 'all clean:' \
	$'\t@echo "LLVM=$(LLVM) BTF=$(CONFIG_DEBUG_INFO_BTF_MODULES)"' >"$tmp/kdir/Makefile"
echo CONFIG_CC_IS_CLANG=y >"$tmp/kdir/.config"
/usr/sbin/dkms build "tcp-hpccpp/$version" -k 6.9.0/x86_64 --config "$tmp/kdir/.config" \
	--kernelsourcedir "$tmp/kdir" --dkmstree "$tmp/dkms" \
	--sourcetree "$tmp/tcp-hpccpp-dkms/usr/src" >"$tmp/out" 2>&1
check "dkms passes LLVM=1 for a kernel built by clang, and builds no BTF" \
	grep -x "LLVM=1 BTF=" "$tmp/dkms/tcp-hpccpp/$version/build/make.log"
series=6.1
release=5.10.0-30-amd64
dkms build >"$tmp/out" 2>&1
check "5.10: dkms does not build it, and apt skips it" [ $? -eq 77 ]
check "... and its output gives the reason" grep BUILD_EXCLUSIVE "$tmp/out"
# What apt runs for a kernel that is installed, by Debian 12's dkms and by a newer one
newer=$tmp/newer
mkdir "$newer"
( private_apt_init "$newer" trixie && private_apt apt-get update && cd "$newer" &&
	private_apt apt-get download dkms && dpkg-deb -x dkms_*.deb . ) >&2
for dkms in /usr/sbin/dkms "$newer/usr/sbin/dkms"; do
	autoinstall() # RELEASE
	{
		"$dkms" autoinstall -k "$1/x86_64" --kernelsourcedir "${tree[6.1]}/build" \
			--dkmstree "$tmp/auto" --sourcetree "$tmp/tcp-hpccpp-dkms/usr/src" \
			--installtree "$tmp/auto-modules" --no-depmod
	}
	rm -rf "$tmp"/auto{,-modules}
	mkdir -p "$tmp"/auto "$tmp/auto-modules"/{"$release","$(<"${tree[6.1]}/release")"}
	"$dkms" add "tcp-hpccpp/$version" --dkmstree "$tmp/auto" \
		--sourcetree "$tmp/tcp-hpccpp-dkms/usr/src" >"$tmp/out"
	check "dkms $("$dkms" --version | grep -o '[0-9].*') autoinstall: succeeds for 5.10" autoinstall "$release"
	check "... where it builds nothing" says <(find "$tmp/auto-modules" -name '*.ko*') ""
	check "... and succeeds for 6.1" autoinstall "$(<"${tree[6.1]}/release")"
	check "... where it installs the module" says <(find "$tmp/auto-modules" -name '*.ko*') "*/tcp_hpccpp.ko"
	check "... and still succeeds for 5.10" autoinstall "$release"
done
ktap_finish
