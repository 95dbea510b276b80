# A file named as if it were packed already is left alone when named, with a hint; -f packs it once more
seq 10 > plain && mh tamp plain
mh tamp plain.zst; echo $?
mh tamp -f plain.zst && ls
mh tamp -F gz plain.zst && ls
