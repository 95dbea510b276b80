//! The acceptance binary.
