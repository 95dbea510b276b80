# All of the range is resident, with one thread and with two.
mh vmtasks bench --size 32M -j 2 --rounds 2 --json | grep -oE '"(bytes|threads|page_bytes|resident_bytes)":[0-9]+'
