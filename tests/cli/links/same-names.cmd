# two files whose outputs would have one name: the second is left alone, and gzip's exit code says so
mh links --only gunzip bin && echo 1 | mh tamp -Fgz > a.gz && cp a.gz a.z
bin/gunzip a.gz a.z
echo "exit $?" && ls
