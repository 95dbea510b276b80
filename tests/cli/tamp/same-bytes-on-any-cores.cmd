# Output never depends on the number of cores, nor on how the bytes arrive
seq 2000000 > plain
for format in gz zst; do
    for hands in 1 2 3 64; do mh tamp -F $format -j $hands -c plain | cksum; done | sort -u | wc -l
    cat plain | mh tamp -F $format | cksum > piped; mh tamp -F $format -c plain | cksum | cmp - piped
done
