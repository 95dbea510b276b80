# Damage behind sound members: nothing is kept, and the hint says how to get at what is sound
seq 1000 > plain; mh tamp -F gz -c plain > one; (cat one; head -c 500 one) > cut.gz
mh tamp -d cut.gz; echo $?
mh tamp -dc cut.gz 2> /dev/null | head -c 3893 | cmp - plain && ls
