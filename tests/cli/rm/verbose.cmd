# Every removal, at one hand in the order of the walk.
mkdir -p d/e; touch d/f d/e/g; mh rm -rv -j 1 d
