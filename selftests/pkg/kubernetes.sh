#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# deploy/: the manifests against the types of the Kubernetes API, strictly, and what ours are to be like beyond
# that; the container file as far as that goes without building it.
# shellcheck disable=SC2016,SC2013,SC2094 # jq's variables, words are meant, nothing is written while it is read
set -u
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.." || exit 1
OUT=${OUT:-.output}
here=selftests/pkg

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. selftests/net/lib_tap.sh

make -s "$OUT/bigtcp" "$OUT/bigtcpd" >&2 || exit 1
go=$(realpath -m "$OUT")/loaders/go-cache
mkdir -p "$OUT/pkg"
[ "$OUT/pkg/yaml2json" -nt $here/yaml2json.go ] ||
	GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$go GOFLAGS=-p=2 \
		go build -o "$OUT/pkg/yaml2json" $here/yaml2json.go >&2 || exit 1

yaml()
{
	"$OUT/pkg/yaml2json" "$@"
}

# schema_says FILE: errors of a file of JSON documents
schema_says()
{
	jq -r --slurpfile schema "$schema" -f $here/kube_check.jq "$1"
}

by_schema()
{
	local f n=0

	for f in deploy/kubernetes/*.yaml; do
		yaml "$f" >"$tmp/doc" 2>&1 || { cat "$tmp/doc" && continue; }
		schema_says "$tmp/doc" 2>&1 | sed "s|^|$f: |"
		n=$((n + $(wc -l <"$tmp/doc")))
	done
	[ "$n" -ge 6 ] || echo "$n objects only"
}

# refused FILTER: the DaemonSet, changed like that, is none.
refused()
{
	jq -c "$1" "$tmp/ds" >"$tmp/changed" && [ -n "$(schema_says "$tmp/changed")" ] || echo "is taken: $1"
}

strict()
{
	refused '.spec.template.spec.hostnetwork = true'
	refused '.spec.template.spec.containers[0].securityContext.capabilities.keep = ["ALL"]'
	refused '.spec.updateStrategy.maxUnavailable = 1'
	refused '.spec.template.spec.hostNetwork = "yes"'
	refused '.spec.template.spec.volumes[0].hostPath = "/sys/fs/bpf"'
	refused 'del(.spec.selector)'
	refused 'del(.spec.template.spec.containers[0].name)'
	refused '.apiVersion = "extensions/v1beta1"'
	printf 'a: 1\na: 2\n' >"$tmp/twice.yaml"
	! yaml "$tmp/twice.yaml" >/dev/null 2>&1 || echo "a key that is given twice is taken"
}

# holds TEXT FILTER: of the DaemonSet
holds()
{
	jq -e ".spec.template.spec as \$pod | (\$pod.containers[0]) as \$c | $2" "$tmp/ds" >/dev/null || echo "not so: $1"
}

daemonset()
{
	holds "the node's network" '$pod.hostNetwork'
	holds "on every node" '[$pod.tolerations[] | select(.operator == "Exists" and .key == null)] | length == 1'
	holds "system-node-critical" '$pod.priorityClassName == "system-node-critical"'
	holds "one node at a time" '.spec.updateStrategy.rollingUpdate.maxUnavailable == 1'
	holds "four capabilities" '$c.securityContext.capabilities ==
		{"drop": ["ALL"], "add": ["BPF", "NET_ADMIN", "SYS_ADMIN", "SYSLOG"]}'
	holds "not privileged" '$c.securityContext | .privileged == false and .allowPrivilegeEscalation == false and
		.readOnlyRootFilesystem'
	holds "nothing is detached when a pod ends" '[.. | .preStop? // empty] == []'
	holds "ready: attached and verified" '$c.readinessProbe.httpGet | .path == "/healthz" and .host == "127.0.0.1"'
	holds "the node's bpffs" '([$pod.volumes[] | select(.hostPath.path == "/sys/fs/bpf").name][0]) as $v |
		[$c.volumeMounts[] | select(.name == $v)] == [{"name": $v, "mountPath": "/sys/fs/bpf",
			"mountPropagation": "HostToContainer"}]'
	holds "bpffs is mounted if it is missing" '$pod.initContainers[0] | .securityContext.privileged and
		(.command[-1] | test("bpf_fs.*\\|\\| mount -t bpf")) and .volumeMounts[0].mountPropagation == "Bidirectional"'
	holds "every volume is one" '[$pod.initContainers[], $pod.containers[] | .volumeMounts[].name] | unique ==
		([$pod.volumes[].name] | unique)'
	holds "selects its own pods" '.spec.selector.matchLabels == .spec.template.metadata.labels'
	holds "the image is this version" "[\$pod.initContainers[], \$pod.containers[] | .image] | unique == [\"bigtcp:$version\"]"
}

configuration()
{
	yaml deploy/kubernetes/20-config.yaml | jq -r '.data["bigtcp.conf"]' >"$tmp/bigtcp.conf"
	"$OUT/bigtcpd" --check --config "$tmp/bigtcp.conf" --run-dir "$tmp" >"$tmp/log" 2>&1 || cat "$tmp/log"
	# The probes ask where it listens.
	grep -qx "metrics-listen = 127.0.0.1:$(jq '.spec.template.spec.containers[0].readinessProbe.httpGet.port' "$tmp/ds")" \
		"$tmp/bigtcp.conf" || echo "the probe's port is another"
}

# The removal, on a device of a namespace of our own: what bigtcp did is undone, what others did stays.
removal()
{
	PATH=$(realpath "$OUT"):$PATH unshare --mount --net --propagation private bash -c '
		set -e
		while umount /sys/fs/bpf 2>/dev/null; do :; done
		mount -t bpf bpf /sys/fs/bpf
		mount -t tmpfs run /run && mkdir /run/netns
		ip link add v0 type veth peer name v1
		ip link set v0 up && ip link set v1 up
		ip link set v1 gso_max_size 100000
		bigtcp observe v0 >&2 && bigtcp guard v0 >&2 && bigtcp enable --force v0 >&2
		[ "$(bigtcp observe -j | jq ".observers | length")" = 2 ]
		ip -d link show v0 | grep -q "gso_max_size 65536" && exit 1
		sh deploy/container/uninstall-node >&2
		[ "$(bigtcp observe -j | jq ".observers | length")" = 0 ]
		[ "$(bigtcp guard --show -j | jq ".guards | length")" = 0 ]
		ip -d link show v0 | grep -q "gso_max_size 65536"
		ip -d link show v1 | grep -q "gso_max_size 100000"
	' >"$tmp/log" 2>&1 || { echo "status $?" && cat "$tmp/log"; }
}

file=deploy/container/Containerfile
# The file with its lines put together, an instruction each.
instructions()
{
	sed -e '/^#/d' -e ':a' -e '/\\$/{N;s/\\\n//;ba}' "$file" | sed 's/  */ /g; /^ *$/d'
}

container()
{
	local word src

	instructions >"$tmp/instr"
	grep -vE '^(FROM|RUN|WORKDIR|COPY|ENTRYPOINT) ' "$tmp/instr" | sed 's/^/not an instruction of ours: /'
	[ "$(grep -c '^FROM debian:12' "$tmp/instr")" = 2 ] || echo "not two stages of Debian 12"
	while read -r word src _; do
		[ "$word" = COPY ] || continue
		case $src in
		--from=*) grep -q "^FROM .* AS ${src#--from=}\$" "$tmp/instr" || echo "no stage ${src#--from=}" ;;
		*) [ -e "$src" ] || echo "COPY of $src, which is not there" ;;
		esac
	done <"$tmp/instr"
	# What one stage takes from the other is what make install puts there.
	make -s install DESTDIR="$tmp/out" PREFIX=/usr >/dev/null 2>&1 || echo "make install failed"
	mkdir -p "$tmp/out/usr/libexec/bigtcp" && cp deploy/container/uninstall-node "$tmp/out/usr/libexec/bigtcp/"
	for src in $(sed -n 's/^COPY --from=build \/out\([^ ]*\) .*/\1/p' "$tmp/instr"); do
		[ -e "$tmp/out$src" ] || echo "make install makes no $src"
	done
}

# packages STAGE: those that its apt-get install names
packages()
{
	awk -v want="$1" '/^FROM/ { stage++ } stage == want && /apt-get install/ {
		sub(/.*--no-install-recommends/, ""); sub(/&&.*/, ""); print }' "$tmp/instr"
}

container_packages()
{
	local p lib

	for p in $(packages 1) $(packages 2); do
		apt-cache show "$p" >/dev/null 2>&1 || echo "apt knows no package $p"
	done
	for p in $(packages 1); do
		grep -q "^$p " selftests/deps.sh || echo "selftests/deps.sh lacks $p, which the build wants"
	done
	# Every library that the commands are linked with is of a package that the image has.
	for lib in $(ldd "$OUT/bigtcp" "$OUT/bigtcpd" | sed -n 's/.*=> \([^ ]*\) .*/\1/p' | sort -u); do
		readelf -d "$OUT/bigtcp" "$OUT/bigtcpd" | grep -q "NEEDED.*\[$(basename "$lib")\]" || continue
		p=$(dpkg -S "*$(readlink -f "$lib" | sed 's|^/usr||')" 2>/dev/null | sed 's/:.*//' | head -n 1)
		case " $(packages 2 | tr '\n' ' ') libc6 zlib1g " in
		*" $p "*) ;;
		*) echo "$lib is of $p, which the image lacks" ;;
		esac
	done
}

version=$(sed -n 's/^VERSION *:= *//p' Makefile)
yaml deploy/kubernetes/30-daemonset.yaml >"$tmp/ds" || exit 1
if schema=$(bash $here/lib_kube_schema.sh 2>"$tmp/why"); then
	result "the manifests are what the API takes" "$(by_schema)"
	result "and what it does not know is an error" "$(strict 2>&1)"
else
	skip "the manifests are what the API takes" "no schema: $(tail -n 1 "$tmp/why")"
	skip "and what it does not know is an error" "no schema"
fi
result "the DaemonSet is as it is meant" "$(daemonset 2>&1)"
result "bigtcpd takes the configuration" "$(configuration 2>&1)"
if [ "$(id -u)" = 0 ]; then
	result "the removal undoes what bigtcp did, and nothing else" "$(removal)"
else
	skip "the removal undoes what bigtcp did, and nothing else" "needs root"
fi
result "what the container file copies is there" "$(container 2>&1)"
# Without lists of packages apt knows what is installed only.
if apt-cache madison make 2>/dev/null | grep -q . || { [ "$(id -u)" = 0 ] && apt-get -q update >/dev/null 2>&1; }; then
	result "the packages it installs exist, and are enough" "$(container_packages 2>&1)"
else
	skip "the packages it installs exist, and are enough" "apt has no lists of packages"
fi
finish
