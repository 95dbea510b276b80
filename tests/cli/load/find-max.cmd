# A goal that is none is refused with the part that is wrong.
mh load echo --find-max 'p50<1ms,p99<10'
