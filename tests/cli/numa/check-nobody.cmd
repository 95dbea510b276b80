# A process that is not there is an error that names it.
mh numa check 4194304
