# What is the same by content is left alone.
echo same > a; echo same > b; touch -d 2001-01-01 b; mh cp -v --skip-same=blake3 a b; mh cp -v --skip-same a b
