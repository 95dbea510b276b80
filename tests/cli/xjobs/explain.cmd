# The plan says how wide, how lines are read, where outputs go.
ulimit -n 1000
mh xjobs -j 3 -k --timeout 1m --memory 1G --explain gzip {} ::: a b
