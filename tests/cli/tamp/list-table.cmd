# -l tells sizes, ratio, check, units and whether the file can be decoded in parallel
head -c 9000000 /dev/zero > plain
mh tamp plain && mh tamp -F gz plain && gzip -c plain > foreign.gz && zstd -q -c < plain > foreign.zst
mh tamp -l plain.zst plain.gz foreign.gz foreign.zst
