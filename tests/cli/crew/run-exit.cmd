# crew run ends as the program does: its code, 128 and the signal, 127 not found, 126 not to be run.
export MH_CREW_DIR="$PWD/crew"
printf 'in\n' | mh crew run -- sh -c 'cat; echo err >&2; exit 3'; echo $?
mh crew run -- sh -c 'kill -KILL $$'; echo $?
mh crew run -- no-such-program; echo $?
mh crew run -- ./mute; echo $?
: > mute; mh crew run ./mute; echo $?
mh crew run; echo $?
