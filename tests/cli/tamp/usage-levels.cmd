# Levels beyond the usual need --ultra, those beyond all are refused
seq 10 > a
mh tamp -20 a; echo $?
mh tamp -F gz -10 a; echo $?
mh tamp -23 --ultra a; echo $?
mh tamp -F gz -13 --ultra a; echo $?
mh tamp -25 a; echo $?
ls
