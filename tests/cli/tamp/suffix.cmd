# -S says which ending to add, chooses the format by it, and says which one to take away
seq 1000 > plain
mh tamp -S .gz plain && mh tamp -S .packed plain && mh tamp -l plain.gz plain.packed | awk '{ print $5, $NF }'
rm plain
mh tamp -d -S .packed plain.packed && tail -n 1 plain
