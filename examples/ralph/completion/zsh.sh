#compdef ralph
# Completes ralph's commands, flags, values and loops in zsh: source <(ralph completion zsh)
_ralph() {
	local -a found
	found=("${(@f)$(ralph complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n ${found[1]} ]]; then
		compadd -- "${found[@]}"
	else
		_files
	fi
}
compdef _ralph ralph
