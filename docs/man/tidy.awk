# SPDX-License-Identifier: GPL-2.0
# What scdoc writes, without the empty paragraphs that linters complain of and renderers disagree
# about, and with "-" as the character of command lines, which copies right.

function text(line)
{
	if (line !~ /^\\h/)
		gsub(/-/, "\\-", line)
	return line
}

/^\.(P|PP)$/ { blank = 1; next }
# A blank at the end of an indented block is one behind it; one before a block is a space.
/^\.RE$/ { print; next }
/^\.RS/ {
	if (blank && !heading)
		print ".sp"
	blank = 0
	print
	next
}
/^\.(SH|SS) / { blank = 0; heading = 1; print text($0); next }
# scdoc puts the conditions around bullets of a list.
/^\.(ie|el|\\}|IP|TH|ds|nh|ad|\\")/ {
	if (/^\.\\"|^\.TH/)
		blank = 0
	print
	next
}
# Program text is as it is.
/^\.nf/ { if (blank && !heading) print ".sp"; blank = heading = 0; literal = 1; print; next }
/^\.fi/ { literal = 0; print; next }
literal { print text($0); next }
{
	if (blank && !heading)
		print ".P"
	blank = heading = 0
	print text($0)
}
