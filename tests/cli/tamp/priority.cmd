# --priority low does the same work
seq 1000 > plain
mh tamp --priority low -c plain | mh tamp --priority idle -d | tail -n 1
