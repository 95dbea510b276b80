# What does not go together is said
mh pstime -c 1
mh pstime 0
mh pstime 1 -u nobody-is-called-so
mh pstime 10ms mh-no-such-name >/dev/null
mh pstime --by pid
