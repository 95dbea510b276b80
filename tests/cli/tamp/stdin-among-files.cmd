# - stands for standard input among files
seq 3 > one; seq 7 9 > three
seq 4 6 | mh tamp -c one - three | mh tamp -d | tr '\n' ' '; echo
