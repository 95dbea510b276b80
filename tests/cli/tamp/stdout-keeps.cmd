# -c writes to standard output and creates nothing; several files follow one another
seq 1000 > one; seq 2000 > two
mh tamp -c one two > both.zst
mh tamp -dc both.zst > back
cat one two | cmp - back && ls
