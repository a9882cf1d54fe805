# SPDX-License-Identifier: GPL-2.0
# bash completion of bigtcp. The tables are the command's own, put in when bigtcp was built.

@TABLES@

# _bigtcp_reply CUR WORD...: what of the words and kinds begins with CUR.
_bigtcp_reply()
{
	local cur=$1 dir kind line
	local -a words=()

	shift
	for kind; do
		case $kind in
		@dev)
			for dir in /sys/class/net/*; do
				[[ -e $dir/ifindex ]] && words+=("${dir##*/}")
			done
			;;
		@netns)
			for dir in /run/netns/*; do
				[[ -e $dir ]] && words+=("${dir##*/}")
			done
			;;
		@hook) words+=(ingress egress xdp cgroup-ingress cgroup-egress) ;;
		@command) # shellcheck disable=SC2206 # a list
			words+=($_bigtcp_commands) ;;
		@file | @dir)
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do
				COMPREPLY+=("$line")
			done < <(compgen "-${kind:1:1}" -- "$cur")
			;;
		@*) ;;
		*) words+=("$kind") ;;
		esac
	done
	# A list of words by commas: the last of them is the one to complete.
	if [[ $cur == *,* ]]; then
		words=("${words[@]/#/${cur%,*},}")
	fi
	while IFS= read -r line; do
		COMPREPLY+=("$line")
	done < <(compgen -W "${words[*]}" -- "$cur")
}

# What exec runs is completed as a line of its own, where bash-completion knows how.
_bigtcp_other_command()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		_bigtcp_reply "${COMP_WORDS[COMP_CWORD]}" @file
	fi
}

_bigtcp()
{
	local cur=${COMP_WORDS[COMP_CWORD]} cmd='' opt='' place=0 i word

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $word == "=" ]]; then
			continue # --option=value is three words to bash
		elif [[ -n $opt ]]; then
			opt= # its value
		elif [[ $word == "--" && $cmd == exec ]]; then
			_bigtcp_other_command $((i + 1))
			return
		elif [[ $word == -* ]]; then
			[[ -n $(_bigtcp_value "$cmd" "$word") ]] && opt=$word
		elif [[ -z $cmd ]]; then
			cmd=$word
		else
			((place++))
		fi
	done
	[[ $cur == "=" ]] && cur=
	# shellcheck disable=SC2046,SC2086 # lists of words
	if [[ -n $opt ]]; then
		_bigtcp_reply "$cur" $(_bigtcp_value "$cmd" "$opt")
	elif [[ $cur == -* ]]; then
		_bigtcp_reply "$cur" $(_bigtcp_options "$cmd") $_bigtcp_global
	elif [[ -z $cmd ]]; then
		_bigtcp_reply "$cur" $_bigtcp_commands
	else
		_bigtcp_reply "$cur" $(_bigtcp_place "$cmd" "$place")
	fi
}

complete -F _bigtcp bigtcp
