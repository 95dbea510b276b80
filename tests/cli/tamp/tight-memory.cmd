# A tight cap costs hands, never the run; one that is too tight even for one hand names the need
seq 1000000 > plain
mh tamp --memory 6M -j 8 -c plain > packed && mh tamp --memory 1M -j 8 -dc packed | cmp - plain && echo same
mh tamp --memory 6M -j 8 --explain plain | grep -c 'up to 1 hand .*memory allows no more'
mh tamp --memory 1M plain; echo $?
# ... and the ways out, which are such
mh tamp --memory 64M -6 --format xz plain; mh tamp --memory 64M -3 --format xz -c plain | xz -dc | cmp - plain && echo same
