# A folder without -r is an error with a hint; the files beside it are done
mkdir folder && seq 10 > plain
mh tamp folder plain; echo $?
ls
