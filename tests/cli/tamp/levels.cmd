# Every level gives the same bytes back; higher ones are smaller
seq 30000 > plain
for level in -0 -1 -3 -19 '--ultra -20' --fast --fast=9 --best; do
    mh tamp $level -c plain > a.zst && mh tamp -dc a.zst | cmp - plain && echo "zst $level"
done
for level in -0 -1 -6 -9 '--ultra -12' --fast --best; do
    mh tamp $level -F gz -c plain > a.gz && gzip -dc a.gz | cmp - plain && echo "gz $level"
done
[ $(mh tamp -19 -c plain | wc -c) -lt $(mh tamp -1 -c plain | wc -c) ] && echo smaller
