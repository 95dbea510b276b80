# A level counts wherever it stands: before or behind the file, in a cluster, as --level; the last one wins
seq 30000 > plain
nine=$(mh tamp -F gz -9 -c plain | cksum)
for way in '-c9' '-1 -c --level 9' '-c --level=9' '-1 -9 -c'; do
    [ "$(mh tamp -F gz $way plain | cksum)" = "$nine" ] && echo "$way"
done
[ "$(mh tamp -F gz plain -c -9 | cksum)" = "$nine" ] && echo behind
mh tamp -- -9; echo $?
