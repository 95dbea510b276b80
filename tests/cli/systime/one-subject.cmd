# A name and a process are two subjects.
mh systime -p 1 sh
