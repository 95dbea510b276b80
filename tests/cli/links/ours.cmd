# --explain and --report work under every name
mh links --only gzip,zstd bin && seq 100000 > plain
bin/gzip -9 --explain plain | sed -n 2p && bin/zstd --report=json plain 2>&1 | tail -n 1 | cut -c 1-9 && ls
