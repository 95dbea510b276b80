# -t verifies silently and creates nothing; what is broken is told, with exit 1
seq 100000 > plain && mh tamp plain && mh tamp -F gz plain
mh tamp -t plain.zst plain.gz && echo sound
head -c 5000 plain.gz > cut.gz
mh tamp -t plain.zst cut.gz; echo $?
ls
