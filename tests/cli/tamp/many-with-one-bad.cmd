# One bad file among many: it is told, the others are done, the count closes the list, exit 1
for name in a b c d; do seq 1000 > $name && mh tamp $name && rm $name; done
echo this is not packed > b.zst
mh tamp -j 1 -d a.zst b.zst missing.zst c.zst d.zst; echo $?
ls
