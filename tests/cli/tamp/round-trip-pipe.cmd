# With no file, standard input goes to standard output, both ways
seq 300000 > plain
mh tamp < plain | mh tamp -d | cmp - plain && echo zst file in
cat plain | mh tamp -F gz | mh tamp -dc | cmp - plain && echo gz pipe in
mh tamp -c - < plain > packed && mh tamp -d - < packed | cmp - plain && echo dash is standard input
