#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Compares the metrics of scripts/lab/metrics.py with figures computed by hand from made-up
# traces: measure.py has the cases.
#
# check-all: host
# usual: 15
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || ktap_skip_all "no python3-numpy"
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "${BASH_SOURCE%.sh}.py" "$tmp"
