# Wrong words are refused before anything is looked at.
mh sysstat web7 2>&1
mh sysstat 1 0 2>&1
mh sysstat --keep 3 2>&1
echo nothing > nothing && mh sysstat --replay nothing 2>&1
mh sysstat --record nothing 0.1 1 2>&1; cat nothing
