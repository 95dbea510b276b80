# Nobody listens there.
mh db load -d "postgres://me@127.0.0.1:1/x?sslmode=disable" t a.csv
