# Command lines and files that cannot be carried out, before any server is asked.
mh db index -d postgres://me@/shop; echo "exit $?"
mh db index -d sqlite:shop.db f.sql; echo "exit $?"
mh db index -d postgres://me@/shop f.sql --rebuild; echo "exit $?"
mh db index -d postgres://me@/shop f.sql -t t; echo "exit $?"
mh db index -d mysql://me@/shop --rebuild --concurrently; echo "exit $?"
mh db index -d postgres://me@/shop no.sql; echo "exit $?"
printf 'create index i on t (a);\ncreate table u (a int);' >f.sql
mh db index -d postgres://me@/shop f.sql; echo "exit $?"
