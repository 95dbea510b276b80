# Wrong words are refused before anything is looked at.
export HOME=$PWD STATE_DIRECTORY=$PWD/state
mh sysstat 1x 2>&1
mh sysstat 1 0 2>&1
mh sysstat --keep 3 2>&1
mh sysstat --fleet 2>&1
mh sysstat -d 2>&1
mh sysstat key --trust nonsense 2>&1
mh sysstat pair web7:9 --port 10 2>&1
mh sysstat --json web7 2>&1
echo nothing > nothing && mh sysstat --replay nothing 2>&1
mh sysstat --record nothing 0.1 1 2>&1; cat nothing
mh sysstat --metrics=web7:70000 2>&1
mh sysstat --web=a/b 2>&1
mh sysstat --web --replay nothing 2>&1
