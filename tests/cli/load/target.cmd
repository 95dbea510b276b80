# Where a load may go is said.
mh load nowhere
