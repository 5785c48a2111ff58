# SPDX-License-Identifier: GPL-2.0
# The text of known.bounds: paragraphs of a title, a reason and bounds.

def known_groups($text):
	[$text | split("\n\n")[] | split("\n") | map(select(. != "")) |
		{ head: map(select(startswith("#")) | ltrimstr("#") | ltrimstr(" ")),
		  bounds: map(select(startswith("#") | not) | . as $line |
			(capture("^(?<figure>-?[0-9.]+)  (?<what>.+, [^ ]+ [^ ]+)$") // null) |
			if . then .figure |= tonumber else error("known.bounds: \"\($line)\"") end) } |
		select(.bounds != []) |
		if .head | length < 2 then error("known.bounds: no title and reason above \"\(.bounds[0].what)\"")
		else { title: .head[0], reason: (.head[1:] | join(" ")), bounds } end];

def known_bounds($text):
	[known_groups($text)[].bounds[]] |
	(group_by(.what) | map(select(length > 1)[0].what)) as $twice |
	if $twice == [] then . else error("known.bounds: \"\($twice[0])\" is there twice") end;
