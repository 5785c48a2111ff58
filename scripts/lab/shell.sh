#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Inside the lab: loads the links and the module, and runs a command with testbed, tgen and hpccpp
# in PATH, or the lines that shell.py writes to $RESULTS/line.1, line.2 and so on. A line that is
# not there yet is polled for, which takes no time of the guest.
export PATH=$HPCCPP_LAB:${HPCCPP%/*}:$PATH
insmod "$HPCCPP_LAB/link/sch_lablink.ko" && insmod "$HPCCPP_KO" || exit
[[ $# -eq 0 ]] || exec "$@"

exec 2>&1
lab_status=0
for ((lab_line = 1; ; lab_line++)); do
	printf '\0%s\n' "$lab_status"
	until [[ -e $RESULTS/line.$lab_line ]]; do :; done
	eval "$(<"$RESULTS/line.$lab_line")"
	lab_status=$?
done
