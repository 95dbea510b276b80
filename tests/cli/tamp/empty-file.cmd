# An empty file becomes a small packed one and comes back empty
: > empty
mh tamp empty && mh tamp -F gz empty && mh tamp --bgzf -o b.gz empty
rm empty
mh tamp -t empty.zst empty.gz b.gz && gzip -t empty.gz && gzip -t b.gz
mh tamp -d empty.zst && wc -c < empty
mh tamp < /dev/null | mh tamp -d | wc -c
