# Packed files that follow one another are one packed file
seq 1000 > plain; cat plain plain > twice
for format in gz zst; do
    mh tamp -F $format -c plain > one; cat one one > two
    mh tamp -dc two | cmp - twice && mh tamp -l two | awk 'NR > 1 { print $2, $5, $7 }'
done
