# -l --json prints an object for each file, on a line of its own
head -c 3000000 /dev/zero > plain
mh tamp -F gz plain && mh tamp plain
mh tamp -l --json plain.gz plain.zst
