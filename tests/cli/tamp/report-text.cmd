# --report tells where the time went, on standard error
seq 100000 > plain
mh tamp --report -j 1 plain 2> report; head -n 8 report
