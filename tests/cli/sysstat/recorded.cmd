# A recording is replayed as lines, CSV and JSON, and goes on where it is there.
mh sysstat --record r 0.05 3 && mh sysstat --record r 0.05 2
mh sysstat --replay r --csv | wc -l
mh sysstat --replay r --json | grep -c '"values":{'
mh sysstat --replay r --once | grep -c "^mem "
mh sysstat --replay r --plain | head -n 1
