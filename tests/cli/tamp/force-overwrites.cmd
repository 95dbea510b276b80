# -f replaces what is there
seq 1000 > plain; echo old > plain.zst
mh tamp -f plain && mh tamp -dc plain.zst | cmp - plain && echo replaced
echo old > plain
mh tamp -d -f plain.zst && tail -n 1 plain
