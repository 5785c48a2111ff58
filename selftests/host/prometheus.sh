#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The alert rules and the dashboard that come with the packages: Prometheus takes the rules, each
# fires when it has to and not else, and both name metrics, kinds and labels that there are.
#
# check: host
# usual: 15
# shellcheck disable=SC2317,SC2016 # functions that check calls; jq's and Grafana's variables
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
from=$top/scripts/packaging/prometheus
man=$top/tools/man
echo TAP version 13
check "promtool can be had" "$top/scripts/promtool.sh"
promtool=$("$top/scripts/promtool.sh")
cp "$from"/* "$tmp"

check "promtool takes the rules" "$promtool" check rules "$tmp/hpccpp-alerts.yml"
check "each alert fires when it has to, and not else" "$promtool" test rules "$tmp/hpccpp-alerts.test.yml"
alerts() { sed -n 's/^ *- alert: //p' "$tmp/hpccpp-alerts.yml" | sort; }
fired() { grep -oE 'alertname="[A-Za-z]+"' "$tmp/hpccpp-alerts.test.yml" | cut -d'"' -f2 | sort; }
check "... all $(alerts | wc -l) of them" diff <(alerts) <(fired)

# --- The dashboard -----------------------------------------------------------------

dashboard=$tmp/hpccpp-dashboard.json
check "the dashboard has what Grafana needs" jq -e '
	(.uid and .title and .schemaVersion >= 36 and (.panels | length > 10)) and
	([.panels[].id] | length == (unique | length)) and
	all(.panels[]; .title and .gridPos.w > 0 and .gridPos.x + .gridPos.w <= 24) and
	all(.panels[] | select(.type != "row"); (.targets | length > 0) and .fieldConfig.defaults.unit and
		.description and all(.targets[]; .expr and .legendFormat and .refId)) and
	([.. | .datasource? // empty | .uid] | unique == ["${datasource}"]) and
	(.templating.list[0] | .name == "datasource" and .type == "datasource")' "$dashboard"
check "... no panel lies on another" jq -e '[.panels[].gridPos] as $p |
	[range($p | length)] | all(.[]; . as $i | all(range($i); $p[.] as $a | $p[$i] as $b |
		$a.x + $a.w <= $b.x or $b.x + $b.w <= $a.x or $a.y + $a.h <= $b.y or $b.y + $b.h <= $a.y))' "$dashboard"
# Its variables are Grafana's: as some value of them
exprs()
{
	jq -r '.. | .expr? // empty' "$1" | sed 's/\$__rate_interval/5m/g; s/\$[a-z]*/.*/g'
}
exprs "$dashboard" | jq -R -s '{groups: [{name: "all", rules: (split("\n") | map(select(. != "")) | to_entries |
	map({record: "r\(.key)", expr: .value}))}]}' >"$tmp/exprs.yml"
check "promtool takes its $(exprs "$dashboard" | wc -l) expressions" "$promtool" check rules "$tmp/exprs.yml"

# --- Names -------------------------------------------------------------------------

# Tests compare the pages' lists with what the command prints: operate, cnp.
{
	items "$man/hpccpp.8" metrics:
	items "$man/hpccpp.8" "metrics: cnp"
	echo node_textfile_mtime_seconds
} >"$tmp/metrics"
for page in port host; do
	items "$man/hpccpp-$page.8" "keys: $page"
done >"$tmp/keys"
items "$man/hpccpp-cnp.8" "keys: cnp" >>"$tmp/keys"
{
	sed -n 's/^stats\.//p' "$tmp/keys"
	items "$man/tcp_hpccpp.7" counters:
} >"$tmp/kinds"
metrics() { grep -ohE '\b(hpccpp|node_textfile)_[a-z_]+\b' "$@" | sort -u; }
kinds() { grep -ohE 'kind=~?\\?"[a-z_|]+' "$@" | sed 's/.*"//' | tr '|' '\n' | sort -u; }
all_of() { ! grep -vxFf "$@"; }	# NAMES WANTED
for file in hpccpp-alerts.yml hpccpp-dashboard.json; do
	metrics "$tmp/$file" >"$tmp/named"
	check "$file: its $(wc -l <"$tmp/named") metrics are there" all_of "$tmp/metrics" "$tmp/named"
	kinds "$tmp/$file" >"$tmp/named"
	check "... and its $(wc -l <"$tmp/named") kinds" all_of "$tmp/kinds" "$tmp/named"
done
ktap_finish
