# the plan before anything happens
echo x > a; mh tar cf t.tar a; mh tar xf t.tar --explain --hands 2; mh tar cf u.tar.zst --zstd a --explain --hands 2; ls
