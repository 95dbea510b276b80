//! Archives that span volumes: what stands at the beginning of each but the first, so that it says which file it goes on with. Reads and writes headers;
//! knows no files and no volumes. COMPAT: GNU tar's forms, byte for byte.

use crate::member::{BLOCK_BYTES, Kind, padded};
use crate::read::volume_header;
use crate::write::{Format, Style, begin_continuation, begin_volume};
use std::io::{self, Read};

/// The rest of a file that began on an earlier volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// The file's name.
    pub name: Vec<u8>,
    /// Bytes that are still to come.
    pub left: u64,
    /// Bytes that earlier volumes have.
    pub offset: u64,
}

/// Appends what stands at the beginning of volume `number`: its label, and what it goes on with.
pub fn begin(number: u64, label: Option<&[u8]>, rest: Option<&Rest>, style: &Style, target: &mut Vec<u8>) {
    let label = label.map(|label| label_of(label, number));
    let seconds = style.label.as_ref().map_or(0, |(_, seconds)| *seconds);
    let style = Style { label: label.map(|label| (label, seconds)), ..style.clone() };
    begin_volume(number, rest, &style, target);
    if let Some(rest) = rest {
        begin_continuation(number, rest, style.format, target);
    }
}

/// The label that a volume has.
pub fn label_of(label: &[u8], number: u64) -> Vec<u8> {
    [label, format!(" Volume {number}").as_bytes()].concat()
}

/// The beginning of a volume that is not the first.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// What it goes on with.
    pub rest: Option<Rest>,
    /// What was read behind that.
    pub ahead: Vec<u8>,
}

/// LIMIT: bytes of the records of a volume.
const RECORDS_BYTES_MAX: u64 = 1 << 20;

/// Reads the beginning of a volume.
pub fn read_begin(volume: &mut impl Read) -> io::Result<Begin> {
    let mut begin = Begin::default();
    let mut is_said = false;
    loop {
        let mut block = [0; BLOCK_BYTES];
        let read = read_full(volume, &mut block)?;
        let header = (read == BLOCK_BYTES).then(|| volume_header(&block)).flatten();
        match header {
            Some((b'V', ..)) => {}
            Some((b'M', name, left, offset)) => {
                begin.rest = Some(Rest { name, left, offset });
                return Ok(begin);
            }
            Some((flag @ (b'g' | b'x'), _, size, _)) if size <= RECORDS_BYTES_MAX && (flag == b'g' || is_said) => {
                let mut records = vec![0; padded(size) as usize];
                read_full(volume, &mut records)?;
                if let Some(rest) =
                    (flag == b'g').then(|| crate::read::volume_records(&records[..size as usize])).flatten()
                {
                    begin.rest = Some(rest);
                    is_said = true;
                }
            }
            // Its header has been said to be one of a part.
            Some(_) if is_said => return Ok(begin),
            _ => {
                begin.ahead = block[..read].to_vec();
                return Ok(begin);
            }
        }
    }
}

fn read_full(volume: &mut impl Read, target: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < target.len() {
        match volume.read(&mut target[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Whether a format has a form for parts of files.
pub fn can_continue(format: Format) -> bool {
    matches!(format, Format::Pax | Format::Gnu | Format::OldGnu)
}

/// Whether what a kind has in an archive may be divided.
pub fn has_data(kind: Kind) -> bool {
    kind == Kind::Regular
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_volume_goes_on_with_is_read_as_it_was_written() {
        let rest = Rest { name: b"d/f".to_vec(), left: 700, offset: 512 };
        for format in [Format::Pax, Format::Gnu] {
            let style = Style { format, ..Style::default() };
            for (label, rest) in [(None, Some(&rest)), (Some(&b"lab"[..]), Some(&rest)), (Some(b"lab"), None)] {
                let mut bytes = Vec::new();
                begin(2, label, rest, &style, &mut bytes);
                bytes.extend([7; BLOCK_BYTES]);
                let found = read_begin(&mut bytes.as_slice()).expect("bytes");
                assert_eq!(found.rest.as_ref(), rest, "{format:?}");
                assert!(rest.is_some() || found.ahead == [7; BLOCK_BYTES]);
            }
        }
        assert_eq!(read_begin(&mut &b"short"[..]).expect("bytes"), Begin { rest: None, ahead: b"short".to_vec() });
    }
}
