# --dry-run prints what would be extracted under the names that it would get; other operations refuse it
mkdir -p d/e; echo 1 > d/e/f; mh tar cf a.tar d; rm -r d
mh tar xf a.tar --dry-run; mh tar xf a.tar --dry-run --strip-components 1 d/e; ls
mh tar cf b.tar a.tar --dry-run; echo $?
