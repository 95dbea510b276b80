# A file becomes FILE.zst beside it, the source stays, and -d gives the same bytes back
seq 200000 > plain && cp plain copy
mh tamp plain && ls
rm plain
mh tamp -d plain.zst && cmp plain copy && ls
