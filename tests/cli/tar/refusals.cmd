# what is not there yet says so; what is no archive is told
mh tar -g snap -cf t.tar x; echo $?
mh tar --delete -f t.tar x; echo $?
mh tar -cf t.tar; echo $?
seq 2000 > garbage; mh tar tf garbage; echo $?
mh tar xf missing.tar; echo $?
