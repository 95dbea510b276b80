# A source whose output failed is never removed
seq 1000 > good; seq 1000 > bad; mkdir bad.zst
mh tamp -j 1 --rm good bad; echo $?
ls
mh tamp -dc good.zst > back; head -c 1000 good.zst > cut.zst
mh tamp -d --rm cut.zst; ls cut*
