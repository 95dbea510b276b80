//! Load on databases: `mh load`.
