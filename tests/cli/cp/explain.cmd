# The plan, and nothing done.
mkdir a; mh cp -a -j 3 --explain a b; ls
