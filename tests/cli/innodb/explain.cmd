# The plan, and nothing done.
mkdir data; truncate -s 9M data/ibdata1; truncate -s 64K data/t.ibd; mh innodb -j 3 --explain data
