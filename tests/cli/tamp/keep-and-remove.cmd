# --rm removes each source once its output is complete; -k, and the last word, win; -c never removes
seq 1000 > one; seq 1000 > two; seq 1000 > three
mh tamp --rm one && mh tamp --rm -k two && mh tamp --rm -c three > piped.zst
ls
mh tamp -d --rm one.zst && ls one*
