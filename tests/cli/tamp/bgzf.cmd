# --bgzf writes BGZF blocks, each with its length, and the empty block that marks the end
seq 100000 > plain
mh tamp --bgzf plain
head -c 16 plain.gz | od -An -tx1
tail -c 28 plain.gz | od -An -tx1
gzip -dc plain.gz | cmp - plain && mh tamp -dc plain.gz | cmp - plain && mh tamp -l plain.gz
