# Command lines that cannot be carried out, before any server is asked.
mh db dump -d postgres://me@/shop; echo "exit $?"
mh db dump -d mysql://me@/shop -f d --role r; echo "exit $?"
mh db dump -d mariadb://me@h -f d; echo "exit $?"
mh db dump -d postgres://me@/shop -f d --skip-definer; echo "exit $?"
mh db dump sqlite:shop.db -f d; echo "exit $?"
mh db dump -d postgres://me@/shop shop -f d; echo "exit $?"
mh db dump -d postgres://me@/shop -f d -Fc; echo "exit $?"
mh db dump -d postgres://me@/shop -f d -s -a; echo "exit $?"
