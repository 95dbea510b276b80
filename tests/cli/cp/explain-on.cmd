# The plan of a copy that is divided over machines, and nothing done.
mkdir a; mh cp -a --on local:3 --explain a b; mh cp -a --on slurm --nodes 8 --no-verify --explain a b; ls
