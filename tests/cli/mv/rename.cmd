# Renames, and says so when asked.
touch a; mkdir d; mh mv -v a b; mh mv -v b d; ls d
