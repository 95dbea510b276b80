# what is not there yet says so; what is no archive is told
mh tar -g snap -cf t.tar x; echo $?
mh tar --delete -f t.tar x; echo $?
mh tar --delete -f t.tar; echo $?
mh tar -A x; echo $?
mh tar -cf t.tar; echo $?
seq 2000 > garbage; mh tar tf garbage; echo $?
: > empty; mh tar tf empty; echo $?
echo a > a; mh tar rf empty a; mh tar tf empty; echo $?
mh tar xf missing.tar; echo $?
