# Ends what is left of a program's runs when the program has died. It reads
#   +PID ID DIGITS   a run has begun: its first process, the name in its environment,
#                    and what its hard limit of file locks begins with, or -
#   -PID             it has ended
# until the program's end of the pipe is closed. Only what a POSIX shell has in it
# is used, and sleep if there is one.
trap '' HUP INT QUIT TERM PIPE
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-

runs=
while read -r what id digits; do
	case $what in
	+*) runs="$runs ${what#+}:$id:$digits" ;;
	-*)
		kept=
		for run in $runs; do
			case $run in "${what#-}":*) ;; *) kept="$kept $run" ;; esac
		done
		runs=$kept
		;;
	esac
done
[ -n "$runs" ] || exit 0

# limited PID: has the process the limit of a run?
limited() {
	hard=
	while read -r a b c soft limit rest; do
		case "$a $b $c" in "Max file locks") hard=$limit && break ;; esac
	done <"/proc/$1/limits"
	[ "${#hard}" -eq 19 ] || return 1
	for run in $runs; do
		case $hard in "${run##*:}"*) return 0 ;; esac
	done
	return 1
}

# named PID: has it the name of a run in its environment?
named() {
	while read -r text || [ -n "$text" ]; do
		for run in $runs; do
			id=${run#*:}
			case $text in *"RALPH_RUN_${id%%:*}=1"*) return 0 ;; esac
		done
		text=
	done <"/proc/$1/environ"
	return 1
}

# living PID: is it more than an entry that nobody has reaped?
living() {
	while read -r key state rest; do
		case $key$state in State:[ZX]) return 1 ;; State:*) return 0 ;; esac
	done <"/proc/$1/status"
	return 1
}

# strike SIGNAL TEST: signals what passes the test; is there any? Where that is the
# first process of a run, its process group is signalled too.
strike() {
	found=1
	for at in /proc/[0-9]*; do
		pid=${at#/proc/}
		[ "$pid" != $$ ] && "$2" "$pid" && living "$pid" || continue
		case "$runs " in *" $pid:"*) kill "-$1" "-$pid" ;; esac
		kill "-$1" "$pid" && found=0
	done
	return $found
}

# first PID: is it the first process of a run?
first() {
	case "$runs " in *" $1:"*) limited "$1" ;; *) return 1 ;; esac
}

nap() { sleep 0.2 || sleep 1; }

if [ -r /proc/self/limits ]; then
	# What a client has started is not ended before it: it would tell its model. So
	# its group alone is asked to end, and all stand still before they are killed.
	strike TERM first && nap
	strike STOP limited
	for test in limited named limited; do
		passes=0
		while [ $passes -lt 100 ] && strike KILL "$test"; do
			passes=$((passes + 1))
		done
	done
else # there is nothing but process groups
	for run in $runs; do kill -TERM "-${run%%:*}"; done
	nap
	for run in $runs; do kill -KILL "-${run%%:*}"; done
fi
