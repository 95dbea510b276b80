# Renaming copies nothing, and the report says so; --dry-run renames nothing, either.
echo 1 > a; echo 2 > b; mkdir c
mh mv --dry-run --report a c 2>&1; mh mv --report a c 2>&1; mh mv -n --report=json b c/a 2>&1; mh mv --report none c 2>&1
