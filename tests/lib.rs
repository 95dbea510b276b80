//! Empty: the tests are in `acceptance.rs`.
