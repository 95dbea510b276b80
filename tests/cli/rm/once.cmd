# One question for many.
touch a b c d; echo n | mh rm -I a b c d; ls
