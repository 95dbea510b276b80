//! The 512 bytes of a header while they are filled in, and its sum.

use crate::member::BLOCK_BYTES;

/// A block with its fields.
pub struct Fields([u8; BLOCK_BYTES]);

/// Whether octal digits and the NUL behind them have room in a field of `bytes`.
pub fn octal_fits(number: u64, bytes: usize) -> bool {
    number >> (3 * (bytes - 1)) == 0
}

impl Fields {
    /// A block of zeros.
    pub fn empty() -> Self {
        Self([0; BLOCK_BYTES])
    }

    /// A header of a dialect.
    pub fn new(magic: &[u8; 8], type_flag: u8) -> Self {
        let mut fields = Self::empty();
        fields.0[257..265].copy_from_slice(magic);
        fields.0[156] = type_flag;
        fields
    }

    /// One byte.
    pub fn byte(&mut self, at: usize, byte: u8) {
        self.0[at] = byte;
    }

    /// Text, cut to its field, which it may fill.
    pub fn text(&mut self, from: usize, bytes: usize, text: &[u8]) {
        let field = &mut self.0[from..from + bytes];
        field.fill(0);
        let count = text.len().min(bytes);
        field[..count].copy_from_slice(&text[..count]);
    }

    /// Text with at least one NUL behind it.
    pub fn text_ended(&mut self, from: usize, bytes: usize, text: &[u8]) {
        self.text(from, bytes, &text[..text.len().min(bytes - 1)]);
    }

    /// Octal digits that fill a field but for a NUL.
    pub fn octal(&mut self, from: usize, bytes: usize, number: u64) {
        let mut rest = number;
        for digit in self.0[from..from + bytes - 1].iter_mut().rev() {
            *digit = b'0' + (rest & 7) as u8;
            rest >>= 3;
        }
        self.0[from + bytes - 1] = 0;
    }

    /// Octal digits, or GNU's base 256 for what they cannot say.
    pub fn number(&mut self, from: usize, bytes: usize, number: i64) {
        match u64::try_from(number) {
            Ok(positive) if octal_fits(positive, bytes) => self.octal(from, bytes, positive),
            _ => {
                let field = &mut self.0[from..from + bytes];
                let mut rest = number;
                for byte in field.iter_mut().rev() {
                    *byte = (rest & 0xff) as u8;
                    rest >>= 8;
                }
                field[0] = if number < 0 { 0xff } else { 0x80 };
            }
        }
    }

    /// The block with its sum.
    pub fn finish(mut self) -> [u8; BLOCK_BYTES] {
        self.0[148..156].fill(b' ');
        let sum: u64 = self.0.iter().map(|&byte| u64::from(byte)).sum();
        self.octal(148, 7, sum);
        self.0
    }

    /// The block as it stands.
    pub fn without_sum(self) -> [u8; BLOCK_BYTES] {
        self.0
    }
}
