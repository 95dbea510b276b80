# A name that says nothing about rows.
mh db load -d postgres://127.0.0.1:1/x t a.dat
