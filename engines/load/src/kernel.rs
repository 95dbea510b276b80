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

#[cfg(test)]
mod tests {
    /// The standard library's logarithms are C's by name, and so these.
    #[test]
    fn logarithms_undo_powers_and_keep_their_edges() {
        for exponent in -1000..1000 {
            let power = 2.0_f64.powi(exponent);
            assert_eq!(power.log2(), f64::from(exponent));
            let expected = f64::from(exponent) * std::f64::consts::LN_2;
            assert!((power.ln() - expected).abs() < 1e-12 * expected.abs().max(1.0), "{exponent}");
        }
        assert_eq!((1.0_f64.ln(), 0.0_f64.ln(), f64::INFINITY.log2()), (0.0, f64::NEG_INFINITY, f64::INFINITY));
        assert!((-1.0_f64).ln().is_nan() && f64::NAN.log2().is_nan());
    }
}
