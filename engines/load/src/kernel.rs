//! Logarithms by the names that C knows, in Rust: `hdrhistogram` and SQLite ask for them, and the C library has them in a file of its own, whose loading
//! would cost every start of the program a tenth of a millisecond.

#![expect(unsafe_code, reason = "names that C code asks for")]

/// The natural logarithm (log(3)).
// SAFETY: the name has this signature and this meaning in C, and nothing else in the program has it.
#[unsafe(no_mangle)]
extern "C" fn log(value: f64) -> f64 {
    libm::log(value)
}

/// The logarithm to base 2 (log2(3)).
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn log2(value: f64) -> f64 {
    libm::log2(value)
}
