# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bigtcp audit on this kernel: programs of the corpus, one of each kind of evidence, get the verdict that
# their statement names (selftests/net/audit.sh has them all; emulation takes seconds for each), and attached
# programs are found.
. selftests/vm/guest.sh

table=.output/corpus/expect.tab
bigtcp=.output/bigtcp
some=" fw_naive ct_policy flow_pcpu flow_rb nat_port edt_pace correct tail_static capture fixed_write ld_abs
redir trust_acct stack512 "

# verdict OBJECT PROGRAM
verdict()
{
	local o=.output/corpus/clang-16/$1.bpf.o opts=(--flow "src=2001:db8::1 dst=2001:db8::2 sport=40000 dport=8443")

	grep -q bt_setup "$o" && opts+=(--setup bt_setup)
	$bigtcp audit -j --obj "$o" --prog "$2" "${opts[@]}" >"$tmp/json" 2>"$tmp/err"
	jq -r '.[0].verdict' "$tmp/json"
}

as_stated()
{
	local got

	got=$(verdict "$1" "$2" 2>&1)
	[ "$got" = "$3" ] && return
	echo "got $got"
	cat "$tmp/err"
	jq -c '.[0] | .evidence' "$tmp/json"
	return 1
}

attached()
{
	ip link add a0 type veth peer name a1 && ip link set a0 up && ip link set a1 up || return 1
	$bigtcp attach a0 ingress .output/corpus/clang-16/fw_naive.bpf.o --prog fw_naive --plain ||
		return 1
	$bigtcp attach a0 egress .output/corpus/clang-16/fw_naive.bpf.o --prog fw_naive || return 1
	$bigtcp audit -j a0 >"$tmp/json"
	$bigtcp detach a0 ingress && $bigtcp detach a0 egress && ip link del a0 || return 1
	jq -c '.[] | [.hook, .verdict, .evidence]' "$tmp/json"
	[ "$(jq -r 'map(.verdict) | sort | join(" ")' "$tmp/json")" = "drops twin" ]
}

if [ ! -x $bigtcp ] || [ ! -s $table ]; then
	not_ok "bigtcp and the corpus's statements are in the guest"
	finish
fi
while read -r object prog want _ kernel; do
	[[ $some == *[[:space:]]"$prog"[[:space:]]* ]] || continue
	if kernel_has "$kernel"; then
		try "audit: $prog is $want" as_stated "$object" "$prog" "$want"
	else
		skip "audit: $prog is $want" "needs kernel $kernel"
	fi
done <$table
try "audit: attached programs, one of them a twin" attached
finish
