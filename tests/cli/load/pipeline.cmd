# SQLite takes one statement at a time.
mh load sqlite:new.db yesmark --pipeline 10
