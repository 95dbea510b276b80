# What bound a run: its hands, its longest job, a chain of jobs, its list.
# Alone: hands that other tests hold would bind it.
export MH_CREW_DIR=
bound() { grep -o "bound by [a-z ]*"; }
printf "0.2\n0.2\n0.2\n0.2\n0.2\n0.2\n0.2\n0.2\n" | mh xjobs -j2 --report sleep 2>&1 | bound
printf "2\n0.1\n0.1\n" | mh xjobs -j2 --report sleep 2>&1 | bound
printf "1\n%%%%\n1\n0.1\n" | mh xjobs -j2 --report sleep 2>&1 | bound
{ echo 0.01; sleep 2; echo 0.01; } | mh xjobs -j2 --report sleep 2>&1 | bound
