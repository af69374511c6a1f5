# Completes ralph's commands, flags, values and loops in fish.
function __ralph_complete
	ralph complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null
	or __fish_complete_path (commandline -ct)
end
complete -c ralph -f -a '(__ralph_complete)'
