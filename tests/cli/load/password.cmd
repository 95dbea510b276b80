# A password in the command line is warned of before anything is tried with it.
mh load 'postgres://me:secret@127.0.0.1:1/app?sslmode=disable' -T 0.1
