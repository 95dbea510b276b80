# A file that cannot be listed is told; the others are listed; exit 1
seq 10 > plain && mh tamp plain && echo nothing packed > foreign.gz
mh tamp -l foreign.gz plain.zst missing.gz > listed; echo $?
awk '{ print $NF }' listed
