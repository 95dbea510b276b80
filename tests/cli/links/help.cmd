# every name has a help of one screen, and says whose it is; -V too
mh links --only gzip,zstd,lz4,bzip2,xz,pigz bin
for name in gzip pigz zstd lz4 bzip2 xz; do bin/$name -h; bin/$name -V | sed 's/ [0-9.]*)/ N)/'; done | sed 's/manyhands [0-9.]*/manyhands N/'
