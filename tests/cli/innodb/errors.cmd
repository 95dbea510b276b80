# What is no tablespace is said to be none, and the others are checked all the same.
printf 'no tablespace, and too short\n' > short.ibd
yes 'a file of something else' | head -c 200000 > text.ibd
truncate -s 1M zeros.ibd
: > empty.ibd
mkfifo pipe.ibd
mh innodb short.ibd text.ibd zeros.ibd empty.ibd pipe.ibd missing.ibd
