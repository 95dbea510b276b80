# A password in the command line is warned of before anything is tried with it.
mh db load -d "postgres://me:secret@127.0.0.1:1/x?sslmode=disable" t a.csv
