# Both kinds of server are set up.
PGHOST=a MYSQL_HOST=b mh db load -d shop t a.csv
