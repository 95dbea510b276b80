# --explain prints the plan and creates nothing
seq 100000 > plain
mh tamp --explain -F gz -9 -j 1 plain
ls
