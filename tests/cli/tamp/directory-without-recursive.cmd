# A directory without -r is an error with a hint; the files beside it are done
mkdir directory && seq 10 > plain
mh tamp directory plain; echo $?
ls
