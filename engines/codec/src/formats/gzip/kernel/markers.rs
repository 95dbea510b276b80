//! DEFLATE data whose beginning nobody has decoded: each byte of the window before them is a marker, which references copy like bytes, until the
//! window is known and all markers are resolved at once (Kerbiriou and Chikhi, "Parallel decompression of gzip-compressed files", 2019).

use super::WINDOW_BYTES;

/// Cells of history that data have in front of them: the whole window in markers.
pub const MARKED_HISTORY: usize = WINDOW_BYTES;

/// Cells from this value on are markers, in the order of the window's bytes.
const FIRST_MARKER: u16 = 256;

/// Cells that are looked at together.
const LOOKED_AT: usize = 32;

/// The marker of each byte of the window.
pub fn fill_history(history: &mut [u16]) {
    for (marker, cell) in (FIRST_MARKER..).zip(history) {
        *cell = marker;
    }
}

/// Behind the last marker among `cells`; 0 if there is none.
pub fn behind_last_marker(cells: &[u16]) -> usize {
    let mut end = cells.len();
    for group in cells.rchunks(LOOKED_AT) {
        if has_marker(group) {
            return end - group.iter().rev().take_while(|cell| **cell < FIRST_MARKER).count();
        }
        end -= group.len();
    }
    0
}

fn has_marker(cells: &[u16]) -> bool {
    cells.iter().fold(0, |all, cell| all | cell) >= FIRST_MARKER
}

/// What cells stand for, now that the window is known.
pub struct MarkerTable {
    /// By a cell's value. No cell is as large as the last ones.
    bytes: Box<[u8; 1 << 16]>,
}

impl MarkerTable {
    /// Of the bytes before the data.
    pub fn new(window: &[u8; WINDOW_BYTES]) -> Self {
        let mut bytes = Box::new([0; 1 << 16]);
        for (byte, value) in bytes.iter_mut().zip(0..=u8::MAX) {
            *byte = value;
        }
        bytes[usize::from(FIRST_MARKER)..][..WINDOW_BYTES].copy_from_slice(window);
        Self { bytes }
    }

    /// Resolves `cells` into as many bytes.
    pub fn resolve(&self, cells: &[u16], into: &mut [u8]) {
        for (bytes, cells) in into.chunks_mut(LOOKED_AT).zip(cells.chunks(LOOKED_AT)) {
            if has_marker(cells) {
                for (byte, cell) in bytes.iter_mut().zip(cells) {
                    *byte = self.bytes[usize::from(*cell)];
                }
            } else {
                for (byte, cell) in bytes.iter_mut().zip(cells) {
                    *byte = *cell as u8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_and_resolved() {
        let mut history = vec![0; MARKED_HISTORY];
        fill_history(&mut history);
        let window: [u8; WINDOW_BYTES] = std::array::from_fn(|at| (at % 251) as u8);
        let mut bytes = vec![0; MARKED_HISTORY];
        let table = MarkerTable::new(&window);
        table.resolve(&history, &mut bytes);
        assert_eq!(bytes, window);
        table.resolve(&[0, 7, 255], &mut bytes[..3]);
        assert_eq!(bytes[..3], [0, 7, 255]);
        let mut cells = vec![3; 1000];
        assert_eq!(behind_last_marker(&cells), 0);
        for at in [999, 500, 64, 63, 0] {
            let mut marked = cells.clone();
            marked[at] = FIRST_MARKER;
            assert_eq!(behind_last_marker(&marked), at + 1, "{at}");
        }
        cells.clear();
        assert_eq!(behind_last_marker(&cells), 0);
    }
}
