#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Metrics: what is exported is what was counted, in a format that Prometheus takes, as text, as a file and from the daemon; and
# what docs/ makes of them (man page, dashboard, alerts) goes with the table of core/metrics.tab.h.
# Prints TAP. Root.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/net/lib.sh
. selftests/net/lib.sh
[ -n "${BT_NET_INSIDE:-}" ] || PROMTOOL=$(sh selftests/promtool.sh 2>&1) || PROMTOOL="none: $PROMTOOL"
export PROMTOOL
net_private "$0" "$@"
. selftests/net/lib_tap.sh
# shellcheck source=selftests/net/lib_daemon.sh
. selftests/net/lib_daemon.sh

DASHBOARD=docs/grafana/bigtcp.json
RULES=docs/prometheus/bigtcp.rules.yml
RULES_TEST=selftests/prometheus/rules.test.yml
sock=$tmp/run/metrics.sock

rcv()
{
	in_ns rcv "$BIGTCP" "$@"
}

# same WHAT A B
same()
{
	[ "$2" = "$3" ] || { echo "$1: $2, not $3"; return 1; }
}

# need_promtool: 77 with the reason if there is none
need_promtool()
{
	case $PROMTOOL in
	none:*) echo "no promtool: ${PROMTOOL#none: }"; return 77 ;;
	esac
}

# value NAME LABELS [FILE]: of a sample; LABELS as in the text
value()
{
	awk -v s="$1${2:+{$2\}}" '$0 ~ /^#/ { next } index($0, s " ") == 1 { print $NF; n++ } END { exit n != 1 }' \
		"${3:-$tmp/metrics}"
}

# --- what docs/ says ----------------------------------------------------------------------------

names()
{
	"$BIGTCP" metrics --list -j | jq -r '.[].name' | sort
}

in_the_man_page()
{
	local name

	[ -s "$OUT/man/bigtcp-observe.8" ] || { echo "the man pages are not built"; return 77; }
	# Without what roff wants escaped.
	sed 's/[\\]//g' "$OUT/man/bigtcp-observe.8" >"$tmp/page"
	for name in $(names); do
		grep -q "$name" "$tmp/page" || { echo "$name is not in it"; return 1; }
	done
}

# Every expression of the dashboard, one a line; its variables are given values.
expressions()
{
	# shellcheck disable=SC2016 # Grafana's variables
	jq -r '.. | .expr? // empty' $DASHBOARD |
		sed 's/\$__rate_interval/5m/g; s/\$instance/.*/g; s/\$device/.*/g'
}

# used: the names of metrics in expressions
used()
{
	grep -oE 'bigtcp_[a-z0-9_]+' | sort -u
}

dashboard_names()
{
	local unknown missing

	unknown=$(comm -13 <(names) <({ expressions; jq -r '.. | .definition? // empty' $DASHBOARD; } | used))
	missing=$(comm -23 <(names) <({ expressions; jq -r '.. | .definition? // empty' $DASHBOARD; } | used))
	same "names that no metric has" "$unknown" "" && same "metrics that it does not show" "$missing" ""
}

# Labels that legends show are labels of the metrics in the panel, or Prometheus' own.
dashboard_labels()
{
	"$BIGTCP" metrics --list -j >"$tmp/list"
	jq -e --slurpfile t "$tmp/list" '[.panels[].targets[]? | . as $x |
		([$t[0][] | . as $m | select($x.expr | test($m.name + "\\b")) | .labels | split(",")[]] + ["instance"]) as $have |
		$x.legendFormat | scan("{{([a-z]+)}}")[0] | select(. as $l | $have | index($l) | not)]
		| if length > 0 then error(tostring) else true end' $DASHBOARD
}

# As Grafana wants it: panels with an id of their own that do not cover each other, each with a title, a text, a query and
# the data source of the choice.
dashboard_is_sound()
{
	jq -e '.uid and .title and .schemaVersion >= 36 and (.templating.list | map(.name) | contains(["datasource", "instance", "device"]))
		and (.panels | length > 10 and (map(.id) | length == (unique | length)))
		and all(.panels[]; .title != "" and .gridPos.x + .gridPos.w <= 24)
		and all(.panels[] | select(.type != "row"); .description != "" and (.targets | length > 0)
			and .datasource.uid == "${datasource}" and (.targets | map(.refId) | length == (unique | length)))
		and ([.panels[].gridPos | range(.y; .y + .h) as $y | range(.x; .x + .w) as $x | "\($x) \($y)"]
			| length == (unique | length))' $DASHBOARD
}

rule_names()
{
	same "names that no metric has" "$(comm -13 <(names) <(grep 'expr:' $RULES | used))" "" || return
	# Alerts that the project promises.
	for alert in BigtcpUnsafeProgram BigtcpSizesReset BigtcpMalformedJumbo BigtcpDaemonStale BigtcpDaemonDown; do
		grep -q "alert: $alert\$" $RULES || { echo "no alert $alert"; return 1; }
	done
}

# What texts of alerts take from $labels is a label of the alert's metric.
rule_labels()
{
	"$BIGTCP" metrics --list -j | jq -r '.[] | "\(.name) \(.labels)"' >"$tmp/list"
	awk 'NR == FNR { labels[$1] = "," $2 ","; next }
		/- alert:/ { alert = $3; have = ",instance,job," }
		/expr:/ { s = $0; while (match(s, /bigtcp_[a-z0-9_]+/)) { have = have labels[substr(s, RSTART, RLENGTH)]; s = substr(s, RSTART + RLENGTH) } }
		{ s = $0
		while (match(s, /\$labels\.[a-z_]+/)) {
			l = substr(s, RSTART + 8, RLENGTH - 8)
			if (!index(have, "," l ",")) { print alert ": no label " l; bad = 1 }
			s = substr(s, RSTART + RLENGTH)
		} }
		END { exit bad }' "$tmp/list" $RULES
}

rules_are_valid()
{
	need_promtool || return
	"$PROMTOOL" check rules $RULES || return
	# Less their texts: what they take is looked at above.
	awk '/^ *annotations:/ { skip = match($0, /[^ ]/); next } skip && match($0, /[^ ]/) > skip { next }
		{ skip = 0; print }' $RULES >"$tmp/rules.yml"
	sed 's|- .*/bigtcp.rules.yml|- rules.yml|' $RULES_TEST >"$tmp/test.yml"
	"$PROMTOOL" test rules "$tmp/test.yml"
}

alerts()
{
	sed -n 's/.*- alert: //p' $RULES
}

# Each alert has a case in which it fires and one in which it does not.
each_alert_is_tested()
{
	local alert rc=0

	alerts >"$tmp/alerts"
	while read -r alert; do
		if ! grep -q "alertname: $alert, exp_alerts: \[\]" $RULES_TEST ||
			! grep -A 2 "alertname: $alert\$" $RULES_TEST | grep -q exp_labels; then
			echo "$alert is not tested"
			rc=1
		fi
	done <"$tmp/alerts"
	return $rc
}

# A rule that can't fire is found: the tests of rules can fail.
tests_of_rules_can_fail()
{
	local alert rc=0

	need_promtool || return
	while read -r alert; do
		awk -v a="$alert" '/- alert:/ { on = $3 == a } on && /expr:/ { print $0 " and vector(1) == 2"; next } { print }' \
			"$tmp/rules.yml" >"$tmp/broken.yml"
		sed 's|- rules.yml|- broken.yml|' "$tmp/test.yml" >"$tmp/broken.test.yml"
		"$PROMTOOL" test rules "$tmp/broken.test.yml" >"$tmp/log" 2>&1 && { echo "$alert: no test fails"; rc=1; }
	done <"$tmp/alerts"
	return $rc
}

expressions_are_valid()
{
	need_promtool || return
	{
		printf 'groups:\n- name: dashboard\n  rules:\n'
		expressions | awk -v q="'" '{ gsub(q, q q); printf "  - record: panel:n%d\n    expr: %s%s%s\n", NR, q, $0, q }'
	} >"$tmp/panels.yml"
	"$PROMTOOL" check rules "$tmp/panels.yml"
}

# --- what is exported --------------------------------------------------------------------------

send()
{
	timeout 60 "$TRAFFIC" -c snd -s rcv -a $SERVER -t 40 -n 20000000 >"$tmp/sent" 2>"$tmp/err" ||
		{ cat "$tmp/sent" "$tmp/err"; return 1; }
}

# As `observe`, `guard` and the twin's own map say, read before and after: packets of the kernel's own may come.
exported_once()
{
	local f

	rcv observe r0 --show -j >"$tmp/a"
	rcv metrics >"$tmp/metrics" || return
	rcv observe r0 --show -j >"$tmp/b"
	cmp -s "$tmp/a" "$tmp/b" || return 2
	for f in packets:observed_packets_total bytes:observed_bytes_total malformed:jumbo_malformed_packets_total \
		max_len:observed_largest_packet_bytes; do
		same "$f" "$(value "bigtcp_${f#*:}" 'device="r0",direction="receive"')" \
			"$(jq ".observers[0].${f%%:*}" "$tmp/a")" || return
	done
	for f in hbh len0 ipv4; do
		same $f "$(value bigtcp_jumbo_packets_total "device=\"r0\",direction=\"receive\",form=\"$f\"")" \
			"$(jq ".observers[0].jumbo_$f" "$tmp/a")" &&
			same $f "$(value bigtcp_jumbo_bytes_total "device=\"r0\",direction=\"receive\",form=\"$f\"")" \
				"$(jq ".observers[0].jumbo_${f}_bytes" "$tmp/a")" || return
	done
	same transmit "$(value bigtcp_observed_packets_total 'device="r0",direction="transmit"')" \
		"$(jq ".observers[1].packets" "$tmp/a")"
}

exported()
{
	local jumbo rc=2

	rcv observe r0 >/dev/null && rcv guard r0 >/dev/null &&
		rcv attach r0 ingress "$FW" --place tail >/dev/null 2>&1 && send || return
	for _ in $(seq 50); do
		exported_once
		rc=$?
		[ $rc != 2 ] && break
	done
	[ $rc = 0 ] || return $rc
	jumbo=$(value bigtcp_jumbo_packets_total 'device="r0",direction="receive",form="hbh"')
	[ "$jumbo" -gt 0 ] || { echo "no jumbo packet"; return 1; }
	same guard "$(value bigtcp_guard_class_packets_total 'device="r0",hook="ingress",class="own-hbh"')" "$jumbo" &&
		same twin "$(value bigtcp_twin_jumbo_packets_total 'device="r0",hook="ingress",program="fw_naive"')" "$jumbo" &&
		same lost "$(value bigtcp_twin_lost_packets_total 'device="r0",hook="ingress",program="fw_naive"')" 0 &&
		same dropped "$(value bigtcp_guard_dropped_packets_total 'device="r0",hook="ingress"')" 0 &&
		same attached "$(grep -c '^bigtcp_program_attached{.*} 1$' "$tmp/metrics")" 4 &&
		same "a size" "$(value bigtcp_interface_max_bytes 'device="r0",family="ipv6",direction="transmit"')" 185000 &&
		same "the guard in front" "$(value bigtcp_observer_first 'device="r0",direction="receive"')" 0 &&
		same "nobody in front" "$(value bigtcp_observer_first 'device="r0",direction="transmit"')" 1
}

format()
{
	# Nothing twice, and only what the table has.
	same "samples twice" "$(sed '/^#/d; s/ [^ ]*$//' "$tmp/metrics" | sort | uniq -d)" "" &&
		same "not in the table" "$(comm -13 <(names) <(sed '/^#/d; s/[{ ].*//' "$tmp/metrics" | sort -u))" "" || return
	need_promtool || return
	"$PROMTOOL" check metrics <"$tmp/metrics"
}

# state_of: of r0's states the one that is 1
state_of()
{
	rcv metrics | sed -n 's/^bigtcp_interface_state{device="r0",state="\(.*\)"} 1$/\1/p'
}

states()
{
	same "before" "$(state_of)" "" || return
	rcv enable r0 --size 200000 --force >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
	same "after enable" "$(state_of)" ours || return
	in_ns rcv ip link set r0 gso_max_size 190000
	same "after a change by hand" "$(state_of)" changed || return
	rcv disable r0 --force >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
	same "after disable" "$(state_of)" hands-off
}

odd_names()
{
	local odd='a"b\c'

	in_ns rcv ip link add "$odd" type veth peer name odd1 || return
	rcv metrics >"$tmp/odd" || return
	in_ns rcv ip link del odd1
	grep -qF 'bigtcp_interface_limit_bytes{device="a\"b\\c"} ' "$tmp/odd" || { grep limit "$tmp/odd"; return 1; }
	need_promtool || return
	"$PROMTOOL" check metrics <"$tmp/odd"
}

# Written again and again while it is read: whoever reads it has all of one version.
textfile()
{
	local file=$tmp/node/bigtcp.prom writers="" i lines bad=0

	mkdir -p "$tmp/node"
	rcv metrics --textfile "$file" || return
	lines=$(grep -c '' "$file")
	for i in 1 2; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			rcv metrics --textfile "$file" || echo "a writer failed"
		done &
		writers+=" $!"
	done
	for ((i = 0; i < 200; i++)); do
		cat "$file" >"$tmp/read" || bad=1
		[ "$(grep -c '' "$tmp/read")" = "$lines" ] || bad=1
	done
	# shellcheck disable=SC2086 # a list of process ids
	wait $writers
	same "readers that had a part of it" $bad 0 && same files "$(ls "$tmp/node")" bigtcp.prom &&
		same mode "$(stat -c %a "$file")" 644 || return
	rcv metrics --textfile "$tmp/nowhere/x.prom" 2>"$tmp/err"
	same "status without the folder" $? 2
}

command_line()
{
	"$BIGTCP" metrics -j >"$tmp/log"
	same "status of -j" $? 1 || return
	"$BIGTCP" metrics eth0 2>"$tmp/log"
	same "status of a word" $? 1 || return
	"$BIGTCP" metrics >/dev/full 2>"$tmp/log"
	same "status with a full disk" $? 2
}

# --- the daemon's ---------------------------------------------------------------------------------

at_socket()
{
	curl -sS --max-time 30 --unix-socket "$sock" "$@"
}

# status_of CURL...: the status that came
status_of()
{
	"$@" -o "$tmp/body" -w '%{http_code}'
}

healthy()
{
	[ "$(status_of at_socket http://bigtcpd/healthz)" = 200 ]
}

endpoint()
{
	conf <<-END
		[daemon]
		interval = 3600
		metrics-socket = $sock
		metrics-listen = 127.0.0.1:9464
		textfile = $tmp/node/daemon.prom
		[device r0]
		policy = warn
		peer = no
	END
	rcv enable r0 --size 185000 --force >"$tmp/log" 2>&1
	daemon_start nsenter --net=/run/netns/rcv || return
	within "it is healthy" healthy || return
	same mode "$(stat -c %a "$sock")" 660 &&
		same "status of /metrics" "$(status_of at_socket -D "$tmp/head" http://bigtcpd/metrics)" 200 || return
	tr -d '\r' <"$tmp/head" | grep -qi '^content-type: text/plain; version=0.0.4' || { cat "$tmp/head"; return 1; }
	cp "$tmp/body" "$tmp/metrics"
	same loopback "$(status_of in_ns rcv curl -sS --max-time 30 http://127.0.0.1:9464/metrics)" 200 || return
	same "the same names" "$(sed '/^#/d; s/[{ ].*//' "$tmp/body" | sort -u)" \
		"$(sed '/^#/d; s/[{ ].*//' "$tmp/metrics" | sort -u)" || return
	same "samples that the command does not show" "$(comm -13 <(rcv metrics | sed '/^#/d; s/ [^ ]*$//' | sort) \
		<(sed '/^#/d; s/ [^ ]*$//' "$tmp/metrics" | sort) | sed 's/[{ ].*//' | sort -u | tr '\n' ' ')" \
		"bigtcp_devices bigtcp_last_reconcile_timestamp_seconds bigtcp_netlink_overruns_total bigtcp_reconcile_duration_seconds bigtcp_reconcile_errors_total bigtcp_reconciles_total bigtcp_size_resets_total bigtcp_unsafe_programs " &&
		same "unsafe programs" "$(value bigtcp_unsafe_programs 'device="r0"')" 0
}

endpoint_format()
{
	need_promtool || return
	"$PROMTOOL" check metrics <"$tmp/metrics" && "$PROMTOOL" check metrics <"$tmp/node/daemon.prom"
}

elsewhere()
{
	same "status of /" "$(status_of at_socket http://bigtcpd/)" 404 &&
		same "status of POST" "$(status_of at_socket -X POST http://bigtcpd/metrics)" 405 || return
	sed 's/127.0.0.1:9464/0.0.0.0:9464/' "$CONF" >"$tmp/open.conf"
	"$BIGTCPD" --config "$tmp/open.conf" --check 2>"$tmp/err" && { echo "0.0.0.0 is taken"; return 1; }
	grep -q 'not of this host alone' "$tmp/err" || { cat "$tmp/err"; return 1; }
}

# received: packets at r0, as the daemon tells
received()
{
	at_socket http://bigtcpd/metrics >"$tmp/metrics" &&
		value bigtcp_jumbo_packets_total 'device="r0",direction="receive",form="hbh"'
}

# Killed: its socket stays, and the counters go on in the kernel; the next one takes both.
killed()
{
	local before after

	before=$(received)
	daemon_end KILL
	send || return
	[ -S "$sock" ] || { echo "no socket is left, so nothing is shown here"; return 1; }
	daemon_start nsenter --net=/run/netns/rcv && within "it is healthy" healthy || return
	after=$(received)
	[ "$after" -gt "$before" ] || { echo "$before, then $after"; return 1; }
}

rss()
{
	local kb i

	for ((i = 0; i < 30; i++)); do
		received >/dev/null || return
	done
	kb=$(awk '/^VmRSS:/ { print $2 }' "/proc/$dpid/status")
	echo "# $kb KB after 30 scrapes"
	[ "$kb" -lt 10240 ]
}

ended()
{
	daemon_end
	same status "$status" 0 && [ ! -e "$sock" ] &&
		same observers "$(rcv observe r0 --show -j | jq '.observers | length')" 2
}

t in_the_man_page "the man page has every metric"
t dashboard_is_sound "dashboard: panels and variables"
t dashboard_names "dashboard: metrics of the table, all of them"
t dashboard_labels "dashboard: labels of its metrics"
t expressions_are_valid "dashboard: expressions that Prometheus takes"
t rule_names "alerts: metrics of the table"
t rule_labels "alerts: labels of their metrics"
t each_alert_is_tested "alerts: each has a test"
t rules_are_valid "alerts: promtool's check, and each fires when it should"
t tests_of_rules_can_fail "alerts: that they can't fire is found"
net_direct
net_size 185000 snd s0 rcv r0
t exported "text: what observer, guard and twin have counted"
t format "text: the format"
t states "text: whose the sizes are"
t odd_names "text: names that have to be escaped"
t textfile "textfile: whole at any time"
t command_line "command line"
if command -v curl >/dev/null; then
	t endpoint "daemon: over its socket and loopback"
	t endpoint_format "daemon: the format"
	t elsewhere "daemon: other requests and addresses"
	t killed "daemon: killed, counters go on"
	t rss "daemon: memory"
	t ended "daemon: takes its socket with it"
else
	skip "daemon: over its socket and loopback" "no curl"
fi
finish
