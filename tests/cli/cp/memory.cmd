# Nothing grows that could be limited.
touch a; mh cp --memory 1M a b; mh cp --memory=1M a b; ls
