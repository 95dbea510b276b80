# The plan of a run that is divided over machines, and nothing done.
mkdir a; mh sum -r --on local:3 --explain a; ls
