# Questions stand in an order that one can follow.
mkdir -p d/e; echo x > d/f; yes | mh rm -ri d; ls
