# A statement that is wrong ends the run with the words of the database.
mh load sqlite:new.db "select * from nowhere" -c 1 --json | grep -c "no such table: nowhere"
