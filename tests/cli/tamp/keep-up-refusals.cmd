# --keep-up needs one producer that can wait, and a level to choose
seq 1000 > plain
mh tamp --keep-up plain; echo $?
mh tamp --keep-up < plain; echo $?
cat plain | mh tamp --keep-up -d; echo $?
cat plain | mh tamp --keep-up --single-frame > out; echo $?
cat plain | mh tamp --keep-up=9..3 > out; echo $?
cat plain | mh tamp --keep-up=1..22 > out; echo $?
