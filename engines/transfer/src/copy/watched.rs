//! Copying a file past somebody who sees every byte of it, in order: digests from the pass that copies. So it is read and written by one worker;
//! holes are shown as zeros and stay holes.

use super::data::{
    Bytes, Failed, Filled, STEP_BYTES, SourceStretch, Way, length_of, put, reading, retried, source_stretch, write_all,
    writing,
};
use super::ranges::{ZEROS, steps};
use rustix::fs::{SeekFrom, ftruncate, seek};
use rustix::io::{pread, read};

/// Who sees the bytes of one file.
pub trait FileWatch {
    /// The next bytes.
    fn see(&mut self, bytes: &[u8]);
    /// The copy has all of them and its metadata, and is closed.
    fn is_whole(self: Box<Self>, target: &[u8]);
}

/// Copies a whole file from its beginning; `pause` is called between steps, with the bytes of the one before.
pub fn copy_watched(
    bytes: &Bytes<'_>,
    buffer: &mut [u8],
    watch: &mut dyn FileWatch,
    mut pause: impl FnMut(u64),
) -> Result<Filled, Failed> {
    // What comes through a pipe has no places to read at, and has no holes.
    let has_places = seek(bytes.source, SeekFrom::Current(0)).is_ok();
    let (mut at, mut step) = (0_u64, 0_usize);
    let mut go_on = |found: usize| {
        step += found;
        if step >= STEP_BYTES {
            pause(step as u64);
            step = 0;
        }
    };
    loop {
        let found = if has_places && bytes.is_file { source_stretch(bytes, at) } else { SourceStretch::Unknown };
        let (data, end) = match found {
            SourceStretch::Data { from, to } => (from, to),
            SourceStretch::Nothing => {
                let end = length_of(bytes.source)?.max(at);
                (end, end)
            }
            SourceStretch::Unknown => (at, u64::MAX),
        };
        for zeros in steps(data - at) {
            watch.see(&ZEROS[..zeros]);
            go_on(zeros);
        }
        let (is_over, from) = (data == end, data);
        at = from;
        while at < end {
            let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
            let piece = &mut buffer[..wanted];
            let found = retried(|| {
                if has_places { pread(bytes.source, &mut *piece, at) } else { read(bytes.source, &mut *piece) }
            })
            .map_err(reading)?;
            if found == 0 {
                return end_at(bytes, at);
            }
            watch.see(&buffer[..found]);
            if bytes.is_file {
                put(bytes, &buffer[..found], at)?
            } else {
                write_all(bytes.target, &buffer[..found])?
            }
            at += found as u64;
            go_on(found);
        }
        if is_over {
            return end_at(bytes, at);
        }
    }
}

/// A hole at the end belongs to the file.
fn end_at(bytes: &Bytes<'_>, at: u64) -> Result<Filled, Failed> {
    if bytes.is_file {
        ftruncate(bytes.target, at).map_err(writing)?;
    }
    Ok(Filled { way: Way::Watched, bytes: at })
}
