# --format gz writes FILE.gz, which gzip reads
seq 200000 > plain && cp plain copy
mh tamp --format gz plain && gzip -dc plain.gz | cmp - copy
rm plain
mh tamp -d plain.gz && cmp plain copy && ls
