# use -r to descend into directories; what is packed already is passed over without a word, and so are links; -rd turns it back
mkdir -p tree/deep/deeper && seq 100 > tree/a && seq 200 > tree/deep/b && seq 300 > tree/deep/deeper/c
mh tamp --rm tree/a && ln -s deep/b tree/link
mh tamp -r --rm tree && find tree | sort
echo; mh tamp -rd --rm tree && find tree | sort
seq 300 | cmp - tree/deep/deeper/c
