# --to-stdout, --uncompress and --decompress are known as well
seq 10 > plain
mh tamp --to-stdout plain > packed
mh tamp --uncompress --stdout packed | tail -n 1
mh tamp --decompress < packed | head -n 1
