# --report of a list: what it was read from, and a table only where a decoder had work to share.
mkdir a; for n in 1 2 3; do echo $n > a/$n; done; tar cf plain.tar a; gzip -k plain.tar; head -c 9000000 /dev/urandom > a/large; mh tar --zstd -cf ours.tar.zst a; rm a/large
for archive in plain.tar ours.tar.zst plain.tar.gz; do mh tar -tf $archive --report 2>&1 > list | sed -n 's/ in [0-9].*s\(;.*\)$/\1/p'; wc -l < list; done
mh tar -tf plain.tar --report=json 2>&1 > list | grep -o '"listed_from":"[a-z ]*"'
mh tar -tf plain.tar.gz --report 2>&1 > list | sed -n 's/^ *\([a-z]*\) (.*/\1/p'
cat plain.tar | mh tar -tf - --report 2>&1 > list | sed -n 's/ in [0-9].*s\(;.*\)$/\1/p'
mh tar -I gzip -tf plain.tar.gz --report 2>&1 > list | sed -n 's/ in [0-9].*s\(;.*\)$/\1/p'
