# What does not go together ends with code 2.
mh xjobs -j 0.x true </dev/null; echo $?
mh xjobs --halt later true </dev/null; echo $?
mh xjobs --resume true </dev/null; echo $?
mh xjobs --term-seq BOOM true </dev/null; echo $?
mh xjobs true ">" </dev/null; echo $?
