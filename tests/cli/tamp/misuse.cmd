# What a newcomer types: each is told once, and what to do
seq 10 > a; mkdir d; seq 3 > d/x; cp -r d e
mh tamp --compression-level 3 a; echo $?
mh tamp --thread 2 --decompres -c nosuch; echo $?
mh tamp -o d a; echo $?
mh tamp -l a; echo $?
mh tamp d e; echo $?
mh tamp -l d; echo $?
mh tamp --report json a; echo $?
