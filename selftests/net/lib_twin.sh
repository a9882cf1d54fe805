# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For tests that compare a twin's own account of traffic with what really passed. Sourced after lib.sh;
# net_private has been called.
. selftests/net/lib_tap.sh
: "${tmp:?}"
PINS=/sys/fs/bpf
BT_CLANG=${CLANG:-clang-16}
export PINS

# need_hbh NAME: ends the script with a skipped test where the kernel makes no jumbo header.
need_hbh()
{
	[ "$("$BIGTCP" probe -j | jq -r '.big_tcp.send.form')" = hbh ] && return
	skip "$1" "this kernel puts no header into jumbo packets"
	finish
	exit
}

# build NAME: selftests/net/objects/NAME.bpf.c as $tmp/NAME.o
build()
{
	"$BT_CLANG" -target bpf -mcpu=v3 -O2 -g -Iinclude -I"/usr/include/$(gcc -print-multiarch)" \
		-c "selftests/net/objects/$1.bpf.c" -o "$tmp/$1.o" || net_die "cannot build $1"
}

# pin_obj NAME FILE.o [twin]: programs to $PINS/NAME, maps to $PINS/NAME/maps; runs bt_setup. With "twin" what is
# loaded are twins.
pin_obj()
{
	local dir=$PINS/$1 exec=()

	[ "${3:-}" != twin ] || exec=("$BIGTCP" exec --refused fail --)
	mkdir -p "$dir/maps" || return
	"${exec[@]}" bpftool prog loadall "$2" "$dir" pinmaps "$dir/maps" >"$tmp/log" 2>&1 || return
	[ -e "$dir/bt_setup" ] || return 0
	head -c 64 /dev/zero >"$tmp/zero"
	bpftool prog run pinned "$dir/bt_setup" data_in "$tmp/zero" >>"$tmp/log" 2>&1
}

# hook_on NS DEV HOOK NAME/PROG [OPTION...]: attaches a pinned program behind those that are there.
hook_on()
{
	in_ns "$1" "$BIGTCP" attach "$2" "$3" --pinned "$PINS/$4" "${@:5}" >"$tmp/log" 2>&1 ||
		net_die "cannot attach $4 to $2: $(cat "$tmp/log")"
}

# hook_off NS DEV HOOK
hook_off()
{
	in_ns "$1" "$BIGTCP" detach "$2" "$3" >"$tmp/log" 2>&1
}

prog_id()
{
	bpftool -j prog show pinned "$PINS/$1" | jq .id
}

# jumbo_of NAME/PROG: "JUMBO LOST", the counters of a pinned twin; "0 0" for what is none
jumbo_of()
{
	local f=$tmp/state_${1//\//_}

	[ -e "$f" ] || twin_map "$(prog_id "$1")" >"$f"
	if [ -s "$f" ]; then
		twin_state "$(cat "$f")"
	else
		echo "0 0"
	fi
}

# send BYTES [OPTION...]: traffic of so much, result in $tmp/run; sets $wrong.
send()
{
	local rc

	timeout 25 "$TRAFFIC" -c snd -s rcv -a "$SERVER" -t 15 -n "$@" >"$tmp/run" 2>"$tmp/err"
	rc=$?
	wrong=
	case $rc in
	0) expect "bytes that came" "$(jq '.flows[0].received' "$tmp/run")" "$1" ;;
	1) wrong="data is wrong or missing: $(cat "$tmp/run"); " ;;
	*) wrong="no traffic: $(cat "$tmp/err"); " ;;
	esac
}

# expect WHAT A B: adds to $wrong if they are not the same.
expect()
{
	[ "$2" = "$3" ] || wrong+="$1: $2, not $3; "
}

# above WHAT A MIN: adds to $wrong if A is not larger than MIN.
above()
{
	[ "${2:-0}" -gt "$3" ] 2>/dev/null || wrong+="$1: ${2:-none}, not above $3; "
}

# no_bad NS...: adds the counters of broken packets that are not 0 to $wrong.
no_bad()
{
	local c

	c=$(net_bad "$@")
	[ -z "$c" ] || wrong+="counters: ${c//$'\n'/, }; "
}
