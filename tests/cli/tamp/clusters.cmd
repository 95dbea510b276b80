# Short options go together, levels among them, as with gzip
seq 1000 > plain
mh tamp -c9Fgz plain > a.gz && gzip -t a.gz && mh tamp -dc < a.gz | tail -n 1
mh tamp -kvf3 plain
