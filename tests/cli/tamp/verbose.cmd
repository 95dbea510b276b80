# -v says what was done with each file
head -c 100000 /dev/zero > one; head -c 200000 /dev/zero > two
mh tamp -j 1 -v one two
mh tamp -dvf one.zst
