# old-style bunches, lists, what is in the way, what is not there
mkdir -p src/sub; seq 1000 > src/a; echo b > src/sub/b; ln src/a src/hard; ln -s a src/soft
TZ=UTC mh tar cf t.tar --mtime=2020-01-02 --owner=me:7 --group=us:8 --mode=0644 src; echo $?
TZ=UTC mh tar tvf t.tar
mkdir out; mh tar xvf t.tar -C out --no-same-owner; cat out/src/sub/b
mh tar xkf t.tar -C out; echo $?
mh tar tf t.tar nothere; echo $?
mh tar tf t.tar src/sub
