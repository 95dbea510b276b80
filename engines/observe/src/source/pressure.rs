//! `/proc/pressure/cpu` (Documentation/accounting/psi.rst): for how long somebody waited for a CPU.
//! LIE: it measures waiting, so that one thread which uses a whole core, alone, is no pressure at all.

use super::words::{number, words};

/// Microseconds since boot in which some thread waited for a CPU; none for what is no such file.
pub fn some_us(text: &[u8]) -> Option<u64> {
    let line = super::words::value_of(text, b"some ")?;
    words(line).find_map(|word| word.strip_prefix(b"total=")).and_then(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found() {
        let text = b"some avg10=0.12 avg60=0.05 avg300=0.01 total=8204246686\nfull avg10=0.00 total=7\n";
        assert_eq!(some_us(text), Some(8_204_246_686));
        assert_eq!(some_us(b""), None);
    }
}
