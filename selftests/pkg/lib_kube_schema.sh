#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lib_kube_schema.sh: prints the path of a JSON file with the types of the Kubernetes API, from Debian's
# python3-kubernetes, whose classes have a table of fields each. Downloaded by apt at first use and kept in
# ${BIGTCP_CACHE:-/var/cache/bigtcp}, by version; the cache can be removed any time. Nothing of it is run.
#
# {"types": {"V1Pod": {"spec": {"type": "V1PodSpec", "required": false}, ...}, ...},
#  "resources": ["apps/v1 daemonsets", ...]}
set -u
export LC_ALL=C
pkg=python3-kubernetes

die()
{
	echo "kube_schema: $*" >&2
	exit 1
}

candidate()
{
	apt-cache policy $pkg 2>/dev/null | sed -n 's/^ *Candidate: //p'
}

cache=${BIGTCP_CACHE:-/var/cache/bigtcp}
version=$(candidate)
[ -n "$version" ] || { apt-get -q update >/dev/null 2>&1 && version=$(candidate); }
[ -n "$version" ] || die "apt knows no package $pkg; is its list of packages there?"
key=$(cksum <"$0" | cut -d' ' -f1)
out=$cache/kubernetes_$(echo "$version" | tr ':~' '__')_$key.json
[ ! -s "$out" ] || { echo "$out" && exit 0; }

mkdir -p "$cache" || die "$cache can't be made; set BIGTCP_CACHE to another folder"
work=$(mktemp -d "$cache/.new.XXXXXX") || die "$cache can't be written; set BIGTCP_CACHE"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$work"

fetch()
{
	(cd "$work" && apt-get -q -o Acquire::Retries=3 download "$pkg=$version") >"$work/log" 2>&1
}

fetch || { apt-get -q update >/dev/null 2>&1 && version=$(candidate) && fetch; } || {
	tail -n 4 "$work/log" >&2
	die "apt-get could not download $pkg $version"
}
dpkg-deb -x "$work"/*.deb "$work/x" || die "$pkg can't be unpacked"
client=$(find "$work/x" -type d -path '*/kubernetes/client' | head -n 1)
[ -d "$client/models" ] || die "$pkg has no models"

# Fields, their types and names in JSON, and what may not be None, a line each.
awk '
function unquote(s) { gsub(/[\x27",]/, "", s); return s }
/^class / { class = $2; sub(/\(.*/, "", class) }
/^    openapi_types = \{/ { part = "type"; next }
/^    attribute_map = \{/ { part = "name"; next }
/^    \}/ { part = "" }
part != "" && /^        \x27/ {
	field = $1; sub(/:.*/, "", field); field = unquote(field)
	value = $0; sub(/^[^:]*: */, "", value); sub(/,$/, "", value); gsub(/\x27/, "", value)
	print class "\t" field "\t" part "\t" value
}
/must not be `None`/ {
	field = $0; sub(/^[^`]*`/, "", field); sub(/`.*/, "", field)
	print class "\t" field "\trequired\t1"
}' "$client"/models/*.py >"$work/fields"
grep -ohE "'/apis?/[a-z0-9./{}_-]+'" "$client"/api/*.py | tr -d "'" |
	sed -nE 's|^/apis?/||; s|/namespaces/\{namespace\}/([a-z]+)$|/\1|; s|^(.*)/([a-z]+)$|\1 \2|p' | grep -v '{' |
	sort -u >"$work/resources"

# shellcheck disable=SC2016 # jq's variables
jq -R -n --rawfile resources "$work/resources" '
	reduce (inputs | split("\t")) as [$c, $f, $k, $v] ({}; .[$c][$f][$k] = $v) |
	{types: map_values([.[] | select(.name and .type) | {key: .name, value: {type, required: (.required != null)}}]
		| from_entries), resources: ($resources | split("\n") | map(select(. != "")))}' "$work/fields" >"$work/json" ||
	die "the types of $pkg can't be read"
jq -e '.types.V1PodSpec.containers.required and (.resources | index("apps/v1 daemonsets") != null)' "$work/json" \
	>/dev/null || die "the types of $pkg $version are not as they were"
mv "$work/json" "$out" || die "$out can't be made"
echo "$out"
