# -r over a directory without files does nothing, and that is no error
mkdir empty
mh tamp -r empty; echo $?
ls -A empty
