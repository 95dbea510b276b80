# -o names the output, and its ending chooses the format
seq 1000 > plain
mh tamp -o x.gz plain && mh tamp -o x.zst plain && mh tamp -o x plain
mh tamp -l x.gz x.zst x | awk '{ print $5, $NF }'
cat plain | mh tamp -o stdin.gz && gzip -dc stdin.gz | cmp - plain && echo from standard input
mh tamp -d -o back x.gz && cmp back plain && echo back
