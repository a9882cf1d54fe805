# SPDX-License-Identifier: GPL-2.0
# Checks a manifest against $schema (lib_kube_schema.sh): an error a line, nothing if it is right. Strict: a field
# that the API does not know is an error, as is one of another type, or one that lacks.

def check($t; $path):
	if . == null then empty
	elif $t == "str" then if type == "string" then empty else "\($path): \(tojson) is no string" end
	elif $t == "datetime" then if type == "string" then empty else "\($path): \(tojson) is no time" end
	elif $t == "int" then if type == "number" and floor == . then empty else "\($path): \(tojson) is no integer" end
	elif $t == "float" then if type == "number" then empty else "\($path): \(tojson) is no number" end
	elif $t == "bool" then if type == "boolean" then empty else "\($path): \(tojson) is no boolean" end
	# A number or a string, such as a port or a percentage.
	elif $t == "object" then empty
	elif $t | startswith("list[") then
		if type != "array" then "\($path): no list"
		else range(length) as $i | .[$i] | check($t[5:-1]; "\($path)[\($i)]") end
	elif $t | startswith("dict(str, ") then
		if type != "object" then "\($path): no map"
		else to_entries[] | .key as $k | .value | check($t[10:-1]; "\($path).\($k)") end
	elif $schema[0].types[$t] == null then "\($path): the schema has no type \($t)"
	elif type != "object" then "\($path): no \($t)"
	else
		. as $obj | $schema[0].types[$t] as $fields |
		((keys[] | select($fields[.] == null) | "\($path).\(.): no field of \($t)"),
		 ($fields | to_entries[] | select(.value.required and $obj[.key] == null) | "\($path).\(.key) lacks"),
		 (to_entries[] | select($fields[.key] != null) | .key as $k | .value
			| check($fields[$k].type; "\($path).\($k)")))
	end;

(.kind // "nothing") as $kind | (.apiVersion // "no version") as $version |
if $schema[0].resources | index("\($version) \($kind | ascii_downcase)s") == null
then "there is no \($kind) in \($version)"
else check("\($version | split("/")[-1] | (.[:1] | ascii_upcase) + .[1:])\($kind)"; "\($kind)") end
