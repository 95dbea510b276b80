# A wrong sweep is refused with the part that is wrong.
mh load echo --sweep connections=8..1
