# The plan, and nothing done.
mkdir a; mh rm -r -j 3 --explain a; ls
