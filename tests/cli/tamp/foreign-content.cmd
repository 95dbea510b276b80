# Content decides, not the name
echo plain text > lie.gz; seq 10 | mh tamp > true.dat
mh tamp -d lie.gz
mh tamp -dc true.dat | tail -n 1
: > empty.gz
mh tamp -d empty.gz
