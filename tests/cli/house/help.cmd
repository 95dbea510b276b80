# mh help is the overview, mh help COMMAND the whole help; -h alone is help whatever else that letter means
mh help > a; mh --help > b; mh > c; mh -h > d; cmp a b && cmp a c && cmp a d && echo the same
mh help tar > a; mh tar --help > b; cmp a b && echo the same
mh help gzip | head -n 3
for command in tamp tar xjobs cp mv rm mtwrite pstime ceiling systime fit timers crew tour links; do mh $command -h | grep -c '^Usage'; done | sort | uniq -c
mh help nonsense; echo $?
mh tmap; echo $?
mh gunzip; echo $?
mh --nonsense; echo $?
