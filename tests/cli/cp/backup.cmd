# The old file is kept, and the line says where.
echo new > a; echo old > b; mh cp -v -b a b; mh cp -v --backup=numbered a b; cat b~; ls
