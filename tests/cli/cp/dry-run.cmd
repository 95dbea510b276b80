# What would be copied, and nothing done.
mkdir -p a/d; touch a/f a/d/g; mh cp -a -j 1 --dry-run a b; ls
