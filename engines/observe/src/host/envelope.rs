//! A frame on its way, in a file or a stream: a mark, what it is, how long, when, a checksum, then the frame, compressed by itself.
//! Each frame stands alone, so whatever happens to a file or a sender, at most the last one is lost; a reader finds the next mark
//! behind damage.
//!
//! `"mh" kind:u8 length:u32 crc32c:u32 wall_ns:u64 zstd(frame)`, little endian; the checksum is of kind, length, time and frame.

use super::frame::{FRAME_BYTES_MAX, FrameKind};
use zstd_safe::{CCtx, DCtx};

/// What every envelope begins with.
pub const MARK: [u8; 2] = *b"mh";
/// Bytes before the frame.
pub const HEAD_BYTES: usize = 19;
/// LIMIT: bytes of a compressed frame; the compressor adds little to what it cannot compress.
pub const BODY_BYTES_MAX: usize = FRAME_BYTES_MAX + (FRAME_BYTES_MAX >> 7);

/// What an envelope holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvelopeKind {
    /// A frame.
    Frame(FrameKind),
    /// Who sends: the host's facts, as JSON.
    Host,
    /// Nothing was written since the frame before, for want of room.
    Gap,
}

impl EnvelopeKind {
    fn number(self) -> u8 {
        match self {
            Self::Frame(FrameKind::Key) => b'K',
            Self::Frame(FrameKind::Delta) => b'D',
            Self::Host => b'H',
            Self::Gap => b'G',
        }
    }

    fn of(number: u8) -> Option<Self> {
        [Self::Frame(FrameKind::Key), Self::Frame(FrameKind::Delta), Self::Host, Self::Gap]
            .into_iter()
            .find(|kind| kind.number() == number)
    }
}

/// The head of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvelopeHead {
    /// What it holds; none where a later version knows what that is.
    pub kind: Option<EnvelopeKind>,
    /// Bytes that follow.
    pub length: usize,
    /// When it was, in nanoseconds since 1970.
    pub wall_ns: u64,
    checksum: u32,
    number: u8,
}

impl EnvelopeHead {
    /// Reads it; none where no envelope begins here.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD_BYTES] = bytes.get(..HEAD_BYTES)?.try_into().ok()?;
        let [m, h, number, l0, l1, l2, l3, c0, c1, c2, c3, time @ ..] = *head;
        let length = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3])).ok()?;
        let is_one = [m, h] == MARK && length <= BODY_BYTES_MAX;
        is_one.then(|| Self {
            kind: EnvelopeKind::of(number),
            length,
            wall_ns: u64::from_le_bytes(time),
            checksum: u32::from_le_bytes([c0, c1, c2, c3]),
            number,
        })
    }

    /// Whether `body` is what was sent with it.
    pub fn confirms(&self, body: &[u8]) -> bool {
        body.len() == self.length && checksum(self.number, self.wall_ns, body) == self.checksum
    }
}

fn checksum(number: u8, wall_ns: u64, body: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&[number]);
    digest.update(&wall_ns.to_le_bytes());
    digest.update(&(body.len() as u64).to_le_bytes());
    digest.update(body);
    digest.finalize() as u32
}

/// Compresses frames and puts them into envelopes.
pub struct Sealer {
    context: CCtx<'static>,
}

/// Level 3 is a quarter of what the frame costs to make; higher ones save 2 %.
const LEVEL: i32 = 3;

impl Default for Sealer {
    fn default() -> Self {
        Self { context: CCtx::create() }
    }
}

impl Sealer {
    /// An envelope.
    pub fn seal(&mut self, kind: EnvelopeKind, wall_ns: u64, frame: &[u8]) -> Vec<u8> {
        let mut sealed = vec![0; HEAD_BYTES + zstd_safe::compress_bound(frame.len())];
        let length =
            self.context.compress(&mut sealed[HEAD_BYTES..], frame, LEVEL).expect("there is room for the worst case");
        sealed.truncate(HEAD_BYTES + length);
        let (head, body) = sealed.split_at_mut(HEAD_BYTES);
        head[..2].copy_from_slice(&MARK);
        head[2] = kind.number();
        head[3..7].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        head[7..11].copy_from_slice(&checksum(kind.number(), wall_ns, body).to_le_bytes());
        head[11..].copy_from_slice(&wall_ns.to_le_bytes());
        sealed
    }
}

/// Takes frames out of envelopes.
pub struct Opener {
    context: DCtx<'static>,
}

impl Default for Opener {
    fn default() -> Self {
        Self { context: DCtx::create() }
    }
}

impl Opener {
    /// The frame in a body whose checksum is right; none where it is no compressed frame, or larger than a frame may be.
    pub fn open(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let size = zstd_safe::get_frame_content_size(body).ok().flatten()?;
        let size = usize::try_from(size).ok().filter(|size| *size <= FRAME_BYTES_MAX)?;
        let mut frame = vec![0; size];
        let length = self.context.decompress(frame.as_mut_slice(), body).ok()?;
        (length == size).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened_and_damage_is_seen() {
        let frame = b"a frame, a frame, a frame".repeat(9);
        let sealed = Sealer::default().seal(EnvelopeKind::Frame(FrameKind::Delta), 77, &frame);
        let head = EnvelopeHead::read(&sealed).expect("a head");
        assert_eq!((head.kind, head.wall_ns), (Some(EnvelopeKind::Frame(FrameKind::Delta)), 77));
        assert!(head.confirms(&sealed[HEAD_BYTES..]));
        assert_eq!(Opener::default().open(&sealed[HEAD_BYTES..]), Some(frame));
        for at in 0..sealed.len() {
            let mut bad = sealed.clone();
            bad[at] ^= 4;
            let is_seen = EnvelopeHead::read(&bad).is_none_or(|head| !head.confirms(&bad[HEAD_BYTES..]));
            assert!(is_seen, "byte {at}");
        }
    }

    #[test]
    fn what_claims_to_be_large_is_not_believed() {
        let mut head = Sealer::default().seal(EnvelopeKind::Gap, 1, b"");
        head[3..7].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(EnvelopeHead::read(&head), None);
        let large = vec![0; FRAME_BYTES_MAX + 1];
        let sealed = Sealer::default().seal(EnvelopeKind::Host, 1, &large);
        assert_eq!(Opener::default().open(&sealed[HEAD_BYTES..]), None);
        assert_eq!(Opener::default().open(b"nothing"), None);
    }
}
