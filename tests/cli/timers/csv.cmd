# One call under two slacks; the first is what was inherited.
mh timers run --slack 50us -- mh timers -c nanosleep -n 3 --csv | cut -d, -f 1,2,4,5,6,11
