# Without runs: a line, as often as asked for, an empty census, and nothing to wait for; a word that is neither a time nor a command.
export MH_CREW_DIR="$PWD/crew"
mh crew --once
mh crew -n 2 10ms
mh crew pasue 2>&1 | head -n 1
mh crew --json | sed 's/"cpus":[1-9][0-9]*,"free":[1-9][0-9]*/"cpus":N,"free":N/'
mh crew wait && mh crew wait --idle && echo nobody
