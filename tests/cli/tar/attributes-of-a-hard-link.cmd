# The first name of a file has its attributes in the archive; a later one is a link and has none.
echo 1 > a; ln a b; setfattr -n user.color -v red a 2>/dev/null || python3 -c 'import os; os.setxattr("a", "user.color", b"red")'
mh tar --xattrs -cf t.tar a b; grep -a -c 'SCHILY.xattr.user.color' t.tar; grep -a -o 'SCHILY.xattr.user.color' t.tar | wc -l
