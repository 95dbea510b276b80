# --explain --report=json prints the plan for programs: one object on one line
seq 100000 > plain
mh tamp --explain --report=json -j 1 plain > plan
wc -l < plan
grep -c '^{"purpose":"compress .*"choices":\[{"subject":"format","decision":"zst .*}\]}$' plan
ls
