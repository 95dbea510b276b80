# A directory without -r is left out, the rest is copied.
mkdir d t; echo x > f; mh cp d f t; ls t
