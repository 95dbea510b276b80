# The plan, and nothing done.
head -c 5000000 /dev/zero > a; mh sum -j 3 --explain -a blake3,sha256 a; mh sum -j 3 --explain a; mh sum -j 2 --explain -c sums; mh sum -j 2 --explain -r .
