# Command lines that cannot be carried out, before any server is asked.
mkdir none; echo x > file
mh db restore -d postgres://me@/shop; echo "exit $?"
mh db restore -d postgres://me@/shop absent; echo "exit $?"
mh db restore -d postgres://me@/shop file; echo "exit $?"
mh db restore -d postgres://me@/shop none; echo "exit $?"
mh db restore -d postgres://me@/shop file --clean --resume; echo "exit $?"
mh db restore -d postgres://me@/shop file -s -a; echo "exit $?"
mkdir d; touch d/toc.dat
mh db restore -d mysql://me@/shop d; echo "exit $?"
mh db restore -d sqlite:shop.db d; echo "exit $?"
mkdir m; echo '{"version":1,"kind":"mysql"}' > m/mh.index
mh db restore -d postgres://me@/shop m; echo "exit $?"
mh db restore -d mysql://me@/shop m --role r; echo "exit $?"
mh db restore -d mysql://me@h m; echo "exit $?"
mh db restore -d mysql://me@/shop m; echo "exit $?"
