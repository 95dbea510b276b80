//! Load on a database.
