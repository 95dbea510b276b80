# The commands of the family.
mh db -h
