# A directory without a tablespace, and no file at all.
mkdir data; echo > data/my.cnf
mh innodb data; echo "exit $?"
mh innodb check; echo "exit $?"
mh innodb --dump 3 a.ibd b.ibd; echo "exit $?"
mh innodb --dump 3 a.ibd; echo "exit $?"
