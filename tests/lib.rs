//! The acceptance binary.
//! Empty: the tests are in `acceptance.rs`.
