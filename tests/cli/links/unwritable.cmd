# A directory that cannot be written to is reported once, and not for each name
mh links /proc/self/fd; echo $?
