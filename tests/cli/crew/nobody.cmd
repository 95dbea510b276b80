# Without runs: a line, an empty census, and nothing to wait for.
export MH_CREW_DIR="$PWD/crew"
mh crew --once
mh crew --json
mh crew wait && mh crew wait --idle && echo nobody
