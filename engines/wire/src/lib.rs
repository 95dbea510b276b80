//! The wire protocols of PostgreSQL and MySQL.
