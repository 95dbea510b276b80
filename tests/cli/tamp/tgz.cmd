# The short ending .tgz becomes .tar, and .tzst does too
seq 10 > member && tar -cf a.tar member && gzip -c a.tar > b.tgz && mh tamp -o c.tzst a.tar
mh tamp -d b.tgz c.tzst
cmp a.tar b.tar && cmp a.tar c.tar && ls
