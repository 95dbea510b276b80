# --keep-good writes what stands before the damage, and still fails
seq 400000 > plain; mh tamp -F gz -k plain; head -c 400000 plain.gz > cut.gz
mh tamp -d cut.gz; echo $?; ls cut 2> /dev/null
mh tamp -d --keep-good --rm cut.gz; echo $?; ls cut.gz
cmp -n "$(stat -c %s cut)" cut plain && test "$(stat -c %s cut)" -gt 1000000 && echo sound
