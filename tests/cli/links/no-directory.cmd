# A directory that is missing is made; a file in its place is told
touch file
mh links --only gzip a/b; echo $?
mh links --only gzip file; echo $?
