//! Ranges of large files, which several processes copy into one target that has its length already; and what a range holds, as BLAKE3.

use super::data::{Buffer, Bytes, Failed, Ways, retried};
use super::{Complaint, Reflink, Sparse};
use files::Status;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, pread};
use std::io;
use std::os::fd::BorrowedFd;

/// A range of a file, and the file that it goes to.
pub struct FileRange<'a> {
    /// From where.
    pub source: BorrowedFd<'a>,
    /// Where to, at the same offsets. Has no data there yet, or those of an earlier try.
    pub target: BorrowedFd<'a>,
    /// Its path, for messages.
    pub target_path: &'a [u8],
    /// How holes are dealt with.
    pub sparse: Sparse,
    /// Where it begins.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
}

/// Copies a range. Where the copied part ends, which is sooner where the source has become shorter.
///
/// # Errors
/// When the source cannot be read, or the target not be written.
pub fn copy_range(range: &FileRange<'_>) -> Result<u64, Complaint> {
    let status = Status::of(range.source).map_err(Complaint::Read)?;
    let bytes = Bytes {
        source: range.source,
        target: range.target,
        status: &status,
        target_device: 0,
        is_file: true,
        sparse: range.sparse,
        reflink: Reflink::Never,
    };
    let mut buffer = Buffer::default();
    let copied = Ways::default().copy_range(&bytes, buffer.bytes(), range.from, range.to, |_| ());
    // A hole may reach beyond the range.
    copied.map(|end| end.min(range.to)).map_err(|failed| match failed {
        Failed::Reading(error) => Complaint::Read(error),
        Failed::Writing(error) | Failed::Sharing(error) => Complaint::Write(range.target_path.to_vec(), error),
    })
}

/// What a range holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeDigest {
    /// BLAKE3 of its bytes; holes are zeros.
    pub value: [u8; 32],
    /// How many there were: fewer where the file ends in it.
    pub bytes: u64,
}

/// LIMIT: zeros that stand for a hole.
pub static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Digests a range of a file. Holes are not read.
///
/// # Errors
/// When the file cannot be read.
pub fn digest_range(file: BorrowedFd<'_>, from: u64, to: u64) -> io::Result<RangeDigest> {
    let status = Status::of(file)?;
    let has_holes = status.allocated_bytes() < status.bytes();
    let mut buffer = Buffer::default();
    let (mut hasher, mut at, end) = (blake3::Hasher::new(), from, to.min(status.bytes().max(from)));
    while at < end {
        let data = if has_holes { data_from(file, at).clamp(at, end) } else { at };
        for step in steps(data - at) {
            hasher.update(&ZEROS[..step]);
        }
        at = data;
        let buffer = buffer.bytes();
        let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            break;
        }
        match retried(|| pread(file, &mut buffer[..wanted], at))? {
            0 => break,
            found => {
                hasher.update(&buffer[..found]);
                at += found as u64;
            }
        }
    }
    Ok(RangeDigest { value: *hasher.finalize().as_bytes(), bytes: at - from })
}

/// Where the next data begin, or `at` where that is not known.
fn data_from(file: BorrowedFd<'_>, at: u64) -> u64 {
    match seek(file, SeekFrom::Data(at)) {
        Ok(data) => data,
        Err(Errno::NXIO) => u64::MAX,
        Err(_) => at,
    }
}

/// So many bytes in pieces of zeros.
pub fn steps(bytes: u64) -> impl Iterator<Item = usize> {
    let whole = bytes / ZEROS.len() as u64;
    let rest = (bytes % ZEROS.len() as u64) as usize;
    (0..whole).map(|_| ZEROS.len()).chain((rest > 0).then_some(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    fn sparse_file() -> (File, Vec<u8>) {
        let file = tempfile::tempfile().expect("a file");
        let mut all = vec![0_u8; 1 << 20];
        all[300_000..300_100].fill(7);
        all[1_000_000..].fill(9);
        file.set_len(all.len() as u64).expect("as long");
        file.write_all_at(&all[300_000..300_100], 300_000).expect("written");
        file.write_all_at(&all[1_000_000..], 1_000_000).expect("written");
        (file, all)
    }

    #[test]
    fn holes_are_digested_as_zeros() {
        let (file, all) = sparse_file();
        for (from, to) in [(0, 1 << 20), (100, 299_999), (299_990, 300_050), (1 << 19, 1 << 20), (5, 5)] {
            let digest = digest_range(file.as_fd(), from, to).expect("read");
            let expected = blake3::hash(&all[from as usize..to as usize]);
            assert_eq!((digest.value, digest.bytes), (*expected.as_bytes(), to - from), "{from} to {to}");
        }
        let beyond = digest_range(file.as_fd(), 1_048_000, 2 << 20).expect("read");
        assert_eq!((beyond.value, beyond.bytes), (*blake3::hash(&all[1_048_000..]).as_bytes(), 576));
    }

    #[test]
    fn ranges_make_up_the_file_and_a_short_source_shows() {
        let (file, all) = sparse_file();
        let target = tempfile::tempfile().expect("a file");
        target.set_len(all.len() as u64).expect("as long");
        let range = |from, to| FileRange {
            source: file.as_fd(),
            target: target.as_fd(),
            target_path: b"t",
            sparse: Sparse::Auto,
            from,
            to,
        };
        assert_eq!(copy_range(&range(1 << 19, 1 << 20)).expect("copied"), 1 << 20);
        assert_eq!(copy_range(&range(0, 1 << 19)).expect("copied"), 1 << 19);
        let mut copied = vec![1; all.len()];
        target.read_exact_at(&mut copied, 0).expect("read");
        assert_eq!(copied, all);
        file.set_len(600_000).expect("cut off");
        assert_eq!(copy_range(&range(1 << 19, 1 << 20)).expect("copied"), 600_000);
    }
}
