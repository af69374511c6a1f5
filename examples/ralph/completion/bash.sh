# Completes ralph's commands, flags, values and loops in bash: source <(ralph completion bash)
_ralph() {
	local word
	COMPREPLY=()
	while IFS= read -r word; do
		COMPREPLY+=("$(printf %q "$word")")
	done < <(ralph complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -o bashdefault -F _ralph ralph
