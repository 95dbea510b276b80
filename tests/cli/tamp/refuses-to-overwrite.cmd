# An output that exists is not replaced, and the source stays even with --rm
seq 1000 > plain; echo precious > plain.zst
mh tamp --rm plain; echo $?
cat plain.zst; ls
