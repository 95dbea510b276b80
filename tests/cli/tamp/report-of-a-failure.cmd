# What was read and written of a file that failed is no ratio, and the report counts the failures.
seq 100000 > plain
mh tamp -c --report plain 2>&1 > /dev/full | sed -n '2s/ in .*;/;/p'
mh tamp -c --report=json plain none 2>&1 > /dev/null | grep -o '"failed":{[^}]*}'
