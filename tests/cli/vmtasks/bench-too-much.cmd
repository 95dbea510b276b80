# More than there is is refused with both numbers before anything is tried.
mh vmtasks bench --size 1000T 2>&1 | sed 's/leaves .*/leaves SO MUCH/'
