# A rate that is none is refused with the part that is wrong.
mh load echo -R 100@10s,x
