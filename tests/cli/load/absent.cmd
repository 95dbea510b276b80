# Nobody listens there.
mh load echo:127.0.0.1:1 -T 0.1 -c 1
