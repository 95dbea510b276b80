# What does not go together is refused before anything is touched: exit 2 each time
seq 10 > a; seq 10 > b
mh tamp -o x a b; echo $?
mh tamp -o x -c a; echo $?
mh tamp -l < a; echo $?
mh tamp --json a; echo $?
mh tamp --bgzf -F zst a; echo $?
mh tamp --single-frame -F gz a; echo $?
mh tamp --long -F gz a; echo $?
mh tamp -F rar a; echo $?
mh tamp -j 0 a; echo $?
mh tamp --memory lots a; echo $?
mh tamp -9 --fast a; echo $?
ls
