# SPDX-License-Identifier: GPL-2.0
# Sourced by lab/kernel.sh and vm/race.sh: builds a kernel of Debian's source, in the
# cache. Nothing is installed and apt's own configuration and lists stay as they are.
#
# There is one directory for each version of the source, and of the files in "configs"
# and "patches" and of "settings". What is there stays; remove the link NAME-<hash> to
# have the archive asked for a newer one. They set
#
#	name			NAME
#	configs, patches	arrays: for allnoconfig, and for the source
#	settings		VARIABLE=VALUE for make
#	unneeded		array: patterns of files in the source that are not unpacked
#	suites, package		of Debian; "choose", if there is such a function, sets "package"
#	targets			of make
#	product			what is made last, in the cache's directory
#
# and have kernel_make, which runs make in "src", and finish, which puts what is wanted
# from there into "dir", the product last.
# shellcheck shell=bash
# shellcheck disable=SC2154 # set there

# quietly LOG COMMAND...: its output to LOG; shown when it fails.
quietly()
{
	local log=$1
	shift
	"$@" >"$log" 2>&1 </dev/null || { tail -n 40 "$log" >&2; return 1; }
}

# Lines of ours that .config does not have: what they need is not there.
check_config() # CONFIG
{
	local line
	while read -r line; do
		case $line in
		CONFIG_*=n)	! grep -q "^${line%n}" "$1" ;;
		CONFIG_*=*)	grep -qxF "$line" "$1" ;;
		esac || step NOTE "no effect: $line"
	done < <(cat "${configs[@]}")
}

build() # into $src, from $tmp/debs
{
	local patch
	step UNPACK "linux-source-$version"
	dpkg-deb -x "$tmp"/debs/*.deb "$tmp/unpacked"
	mkdir -p "$src"
	tar -C "$src" --strip-components=1 --anchored "${unneeded[@]/#/--exclude=$package/}" \
		-I 'xz -T0' -xf "$tmp"/unpacked/usr/src/linux-source-*.tar.xz
	rm -rf "$tmp/unpacked" "$tmp/debs"

	for patch in "${patches[@]}"; do
		step PATCH "${patch##*/}"
		quietly "$tmp/log" patch -d "$src" -p1 --forward --no-backup-if-mismatch -i "$patch" ||
			die "$patch does not apply to linux-source-$version, unpacked in $src: make the hunks that FAILED (above) anew, their reasons are in its head"
	done

	step CONFIG "${configs[*]##*/}"
	cat "${configs[@]}" >"$tmp/config"
	quietly "$tmp/log" kernel_make KCONFIG_ALLCONFIG="$tmp/config" allnoconfig ||
		die "make allnoconfig failed"
	check_config "$src/.config"

	step BUILD "Linux $version, $name: some minutes"
	kernel_make -j2 "${settings[@]}" "${targets[@]}" 2>&1 </dev/null | tee "$tmp/log" |
		awk '/^  (CC|AR|LD) / && ++n % 150 == 0 { printf "  %-7s %d files\n", "BUILD", n; fflush() }' >&2 || {
		grep -m 10 -B 2 -A 10 -e 'error: ' -e '\*\*\*' "$tmp/log" >&2 || tail -n 40 "$tmp/log" >&2
		die "building linux-source-$version failed"
	}
}

# source_kernel [--cached]: prints its directory in the cache, where it is built unless it
# is there; with --cached it is an error that it has not been.
source_kernel()
{
	local hash link
	hash=$({ cat "${patches[@]}" "${configs[@]}"; printf '%s' "${settings[@]}"; } | sha256sum | cut -c1-8)
	link=$cache/$name-$hash
	if [[ ! -e $link/$product ]]; then
		[[ ${1-} != --cached ]] || die "not in the cache"
		mkdir -p "$cache"
		exec 9>"$link.lock"
		flock 9
	fi
	if [[ ! -e $link/$product ]]; then
		tmp=$(mktemp -d "$cache/tmp.XXXXXX")
		trap 'rm -rf "$tmp"' EXIT
		trap 'exit 130' INT
		trap 'exit 143' TERM
		mkdir "$tmp/debs"
		private_apt_init "$tmp" "${suites[@]}"
		private_apt apt-get update >&2
		! declare -F choose >/dev/null || choose
		step FETCH "$package"
		( cd "$tmp/debs" && private_apt apt-get download "$package" ) >&2
		version=$(dpkg-deb -f "$tmp"/debs/*.deb Version)
		dir=$cache/$name-$version-$hash
		# The build has its own path in it: it is made in place.
		src=$dir/build
		if [[ ! -e $dir/$product ]]; then
			rm -rf "$dir"
			build
			kernel_make -s kernelrelease >"$dir/release"
			finish
		fi
		ln -sfn "${dir##*/}" "$link"
	fi
	echo "$link"
}
