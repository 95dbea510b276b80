# --dry-run prints what would be extracted under the names that it would get; other operations refuse it
mkdir -p d/e; echo 1 > d/e/f; mh tar cf a.tar d; rm -r d
mh tar xf a.tar --dry-run; mh tar xf a.tar --dry-run --strip-components 1 d/e; ls
mh tar cf b.tar a.tar --dry-run; echo $?
mkdir -p s/d; echo 1 > top; echo 2 > s/own; (cd s; mh tar cPf ../c.tar d own ../top)
mh tar xf c.tar --dry-run; echo $?
mh tar xf c.tar --dry-run --strip-components 1; echo $?
mkdir out; mh tar xf c.tar -C out; echo $?; ls out
