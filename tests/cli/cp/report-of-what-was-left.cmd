# What was the same already, or was not to be replaced, is not counted as copied.
mkdir a; for n in 1 2 3; do echo $n > a/$n; done; cp -a a b; echo 4 > a/4
mh cp -aT --skip-same --report a b 2> report; head -n 1 report | sed 's/ in .*//'
mh cp -rTn --report a b 2> report; head -n 1 report | sed 's/ in .*//'
