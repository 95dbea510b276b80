# SQLite makes no database of a mistyped name.
mh db load -d sqlite:absent.db t a.csv; test -e absent.db
