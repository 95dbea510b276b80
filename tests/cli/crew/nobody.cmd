# Without runs: a line, an empty census, and nothing to wait for.
export MH_CREW_DIR="$PWD/crew"
mh crew --once
mh crew --json | sed 's/"cpus":[1-9][0-9]*,"free":[1-9][0-9]*/"cpus":N,"free":N/'
mh crew wait && mh crew wait --idle && echo nobody
