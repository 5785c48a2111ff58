#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Say which bounds of the lab's runs hold, and make the report:
#
#	judge.sh ALL.json [KNOWN]
#
# ALL.json is an array of runs' JSON; KNOWN lists the bounds that are known not to
# hold (known.bounds). Leaves "bounds", as bounds.jq has it, and report.html in
# $RESULTS. Ends with 1 when the list and the runs differ: a bound is new or worse, or
# holds and is still listed, or is listed and exists no more. Else ends with 2 when a
# bound could not be judged, as the run that it is relative to is not there.
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$here/../common.sh"

[[ $# -ge 1 && $# -le 2 && -n ${RESULTS-} ]] || bad "usage: RESULTS=DIR judge.sh ALL.json [KNOWN]"
known=${2-$here/known.bounds}
bounds=$RESULTS/bounds
jq -r -L "$here" --rawfile known "$known" -f "$here/bounds.jq" "$1" >"$bounds.new"
mv "$bounds.new" "$bounds"
"$here/report.sh" "$1" "$bounds" "$known"

count() { grep -cE "^($1) " "$bounds" || true; } # WORD|WORD...
# what is bad stands at the end
for word in ok note known unjudged gone holds worse new; do
	grep "^$word " "$bounds" || true
done
echo
[[ -s $bounds ]] || echo "nothing to judge: the bounds are of hpccpp, some beside dctcp"
echo "$(count 'ok|holds') of $(count 'ok|holds|known|new|worse') bounds hold, $(count known) known not to ($known);" \
	"all figures: $RESULTS/report.html"
amiss=$(count 'new|worse|holds|gone')
if [[ $amiss -gt 0 ]]; then
	die "$(count new) new, $(count worse) worse than listed, $(count holds) listed but held," \
		"$(count gone) listed but no more there (the last lines above)"
fi
[[ $(count unjudged) -eq 0 ]] ||
	bad "$(count unjudged) bounds have no baseline: select the runs that they are relative to as well"
