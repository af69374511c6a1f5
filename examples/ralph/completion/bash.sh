# Completes ralph's commands, flags, values and loops in bash: source <(ralph completion bash)
_ralph() {
	local part word before words=() n=0
	COMPREPLY=()
	# For bash = and : end a word, for ralph they do not.
	for part in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		if [[ $n -gt 0 && ( $part == [=:] || ${words[n-1]} == *[=:] ) ]]; then
			before=${words[n-1]}
			[[ $part == [=:] ]] && before+=$part
			words[n-1]+=$part
		else
			before=
			words[n++]=$part
		fi
	done
	while IFS= read -r word; do
		COMPREPLY+=("$(printf %q "${word#"$before"}")")
	done < <(ralph complete -- "${words[@]}" 2>/dev/null)
}
complete -o default -o bashdefault -F _ralph ralph
