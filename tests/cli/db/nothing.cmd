# No database is named anywhere.
env -u PGHOST HOME=/nonexistent mh db load t a.csv
