# Decompressing a name that does not tell the plain one needs -o or -c
seq 10 > plain && mh tamp -o packed plain
mh tamp -d packed; echo $?
mh tamp -d -o back packed && cmp plain back && ls
