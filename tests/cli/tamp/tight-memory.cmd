# A tight cap costs hands, never the run
seq 1000000 > plain
mh tamp --memory 1M -j 8 -c plain | mh tamp --memory 1M -j 8 -d | cmp - plain && echo same
mh tamp --memory 1M -j 8 --explain plain | grep -c 'up to 1 hand .*memory allows no more'
