# -q tells errors only, -qq not even those
seq 10 > plain
mh tamp -q plain nowhere
mh tamp -qq -f plain nowhere; echo $?
