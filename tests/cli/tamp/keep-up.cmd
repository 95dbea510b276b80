# --keep-up takes its levels from the producer; what comes out is the input again, whatever the levels were
seq 200000 > plain
cat plain | mh tamp --keep-up | mh tamp -d | cmp - plain && echo zst
cat plain | mh tamp --keep-up=2..7 --format gz -o packed.gz && gzip -dc packed.gz | cmp - plain && echo gz
cat plain | mh tamp --keep-up=-5.. --report -o packed.zst 2>&1 | grep -c '^kept up: the producer waited .* levels .* mean .* x smaller'
cat plain | mh tamp --keep-up --report=json 2>&1 > /dev/null | grep -c '"kept_up":{"waited_ns":'
cat plain | mh tamp --keep-up=3..9 --explain | grep level
printf '' | mh tamp --keep-up | mh tamp -d | wc -c
