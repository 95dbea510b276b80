# What would be removed, and nothing done.
mkdir -p d; touch d/f; mh rm -r -j 1 --dry-run d; ls
