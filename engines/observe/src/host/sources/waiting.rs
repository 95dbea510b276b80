//! `/proc/pressure` (Documentation/accounting/psi.rst): for how long threads waited.

use crate::host::fields::*;
use crate::host::values::{Values, WHOLE};
use crate::source::words::{number, value_of, words};

/// The files, and where their two lines go.
pub const FILES: [(&str, Option<FieldId>, Option<FieldId>); 4] = [
    // LIE: nobody is stalled in full by CPUs of the whole machine; the kernel writes a line of zeros.
    ("pressure/cpu", Some(PSI_CPU_SOME), None),
    ("pressure/memory", Some(PSI_MEMORY_SOME), Some(PSI_MEMORY_FULL)),
    ("pressure/io", Some(PSI_IO_SOME), Some(PSI_IO_FULL)),
    ("pressure/irq", None, Some(PSI_IRQ_FULL)),
];

/// Totals of one file; the means that stand beside them are of fixed times and not ours.
pub fn pressure(text: &[u8], some: Option<FieldId>, full: Option<FieldId>, values: &mut Values) {
    for (key, field) in [(&b"some "[..], some), (b"full ", full)] {
        let line = value_of(text, key);
        let total = line.and_then(|line| words(line).find_map(|word| word.strip_prefix(b"total="))).and_then(number);
        if let Some((field, microseconds)) = field.zip(total) {
            values.push(field, WHOLE, microseconds.saturating_mul(1000));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_taken_of_the_lines_that_mean_something() {
        let mut values = Values::default();
        let text = b"some avg10=0.12 avg60=0.05 avg300=0.01 total=82\nfull avg10=0.00 total=7\n";
        pressure(text, Some(PSI_IO_SOME), Some(PSI_IO_FULL), &mut values);
        pressure(text, None, Some(PSI_IRQ_FULL), &mut values);
        pressure(b"some avg10=0.12\n", Some(PSI_CPU_SOME), None, &mut values);
        values.sort();
        let fields = [PSI_IO_SOME, PSI_IO_FULL, PSI_IRQ_FULL, PSI_CPU_SOME];
        assert_eq!(fields.map(|field| values.get(field)), [Some(82_000), Some(7_000), Some(7_000), None]);
    }
}
