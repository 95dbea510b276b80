//! The state of directories between incremental archives, as GNU tar's snapshot files have it (format 2). Pure: bytes in, bytes out.

use archive::member::Time;

/// The state of directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoriesSnapshot {
    /// When it was taken.
    pub time: Time,
    pub directories: Vec<KnownDirectory>,
}

/// A directory as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownDirectory {
    pub name: Vec<u8>,
    pub is_on_nfs: bool,
    pub mtime: Time,
    pub device: u64,
    pub inode: u64,
    /// What was in it: records of a letter and a name, each with a NUL behind it.
    pub listing: Vec<u8>,
}

/// Why a file is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSnapshot {
    #[error("it is a snapshot of format {0}, and only format 2 is read (GNU tar 1.16 and newer)")]
    Format(String),
    #[error("it does not look like a snapshot")]
    Other,
    #[error("it is damaged at byte {0}")]
    Damaged(usize),
}

/// COMPAT: as GNU tar calls itself, so that it reads ours.
const FIRST_LINE: &[u8] = b"GNU tar-1.35-2\n";

/// Takes parts off the front of bytes.
struct Parts<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Parts<'a> {
    /// The bytes up to the next NUL.
    fn text(&mut self) -> Result<&'a [u8], NoSnapshot> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&byte| byte == 0).ok_or(NoSnapshot::Damaged(self.at))?;
        self.at += end + 1;
        Ok(&rest[..end])
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, NoSnapshot> {
        let at = self.at;
        let text = std::str::from_utf8(self.text()?).ok();
        text.and_then(|text| text.parse().ok()).ok_or(NoSnapshot::Damaged(at))
    }

    fn time(&mut self) -> Result<Time, NoSnapshot> {
        Ok(Time { seconds: self.number()?, nanoseconds: self.number()? })
    }

    /// A number that may be written as a negative one.
    fn unsigned(&mut self) -> Result<u64, NoSnapshot> {
        let number: i128 = self.number()?;
        Ok(number as u64)
    }
}

impl DirectoriesSnapshot {
    /// Of a file's bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoSnapshot> {
        let line = bytes.iter().position(|&byte| byte == b'\n').map(|end| &bytes[..end]).ok_or(NoSnapshot::Other)?;
        let Some(version) = line.strip_prefix(b"GNU tar-") else {
            let is_number = !line.is_empty() && line.iter().all(|byte| byte.is_ascii_digit() || *byte == b' ');
            return Err(if is_number { NoSnapshot::Format("0".to_owned()) } else { NoSnapshot::Other });
        };
        match version.rsplit(|&byte| byte == b'-').next() {
            Some(b"2") => {}
            format => return Err(NoSnapshot::Format(String::from_utf8_lossy(format.unwrap_or_default()).into_owned())),
        }
        let mut parts = Parts { bytes, at: line.len() + 1 };
        let mut snapshot = Self { time: parts.time()?, directories: Vec::new() };
        while parts.at < bytes.len() {
            let is_on_nfs = parts.text()? != b"0";
            let (mtime, device, inode) = (parts.time()?, parts.unsigned()?, parts.unsigned()?);
            let name = parts.text()?.to_vec();
            let mut listing = Vec::new();
            loop {
                match parts.text()? {
                    b"" => break,
                    record => listing.extend([record, b"\0"].concat()),
                }
            }
            if parts.text()? != b"" {
                return Err(NoSnapshot::Damaged(parts.at));
            }
            snapshot.directories.push(KnownDirectory { name, is_on_nfs, mtime, device, inode, listing });
        }
        Ok(snapshot)
    }

    /// As a file has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = FIRST_LINE.to_vec();
        bytes.extend(format!("{}\0{}\0", self.time.seconds, self.time.nanoseconds).into_bytes());
        for directory in &self.directories {
            let Time { seconds, nanoseconds } = directory.mtime;
            let (device, inode, nfs) = (directory.device, directory.inode, u8::from(directory.is_on_nfs));
            bytes.extend(format!("{nfs}\0{seconds}\0{nanoseconds}\0{device}\0{inode}\0").into_bytes());
            bytes.extend_from_slice(&directory.name);
            bytes.push(0);
            bytes.extend_from_slice(&directory.listing);
            bytes.extend_from_slice(b"\0\0");
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let theirs = b"GNU tar-1.34-2\n1795977254\x00273214329\x000\x001795977254\x00265220621\x0065024\x005578750\x00s/d\x00Yb\x00\x00\x001\x00-5\x007\x001\x002\x00s\x00\x00\x00";
        let snapshot = DirectoriesSnapshot::parse(theirs).expect("a snapshot");
        assert_eq!(snapshot.time, Time { seconds: 1_795_977_254, nanoseconds: 273_214_329 });
        assert_eq!(snapshot.directories[0].listing, b"Yb\0");
        assert_eq!((snapshot.directories[0].device, snapshot.directories[0].inode), (65024, 5_578_750));
        assert!(snapshot.directories[1].is_on_nfs && snapshot.directories[1].listing.is_empty());
        assert_eq!(DirectoriesSnapshot::parse(&snapshot.to_bytes()), Ok(snapshot));
    }

    #[test]
    fn what_is_none_is_refused() {
        let wrong = |bytes: &[u8]| DirectoriesSnapshot::parse(bytes).expect_err("it is none");
        assert_eq!(wrong(b"GNU tar-1.15-1\n123\n"), NoSnapshot::Format("1".to_owned()));
        assert_eq!(
            (wrong(b"123\n"), wrong(b"hello\n"), wrong(b"")),
            (NoSnapshot::Format("0".to_owned()), NoSnapshot::Other, NoSnapshot::Other)
        );
        assert_eq!(wrong(b"GNU tar-1.34-2\n1\x00x\x00"), NoSnapshot::Damaged(17));
        assert_eq!(wrong(b"GNU tar-1.34-2\n1\x002\x000\x00"), NoSnapshot::Damaged(21));
    }
}
