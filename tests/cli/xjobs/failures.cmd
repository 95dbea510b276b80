# Each failure in one line, the count at the end, exit code 1.
printf "true\nfalse\nno-such-program a\nsh -c \"kill -9 \$\$\"\ncat < missing\ntrue > there\n" > list
touch there
mh xjobs -j1 -s list
