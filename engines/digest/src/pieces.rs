//! Hashing one piece of something larger, by an algorithm whose values can be joined. Joins nothing; `combine` does.

use crate::algorithm::Algorithm;
use crate::combine::CrcFacts;
use blake3::hazmat::HasherExt;

/// A piece under way.
pub(crate) enum PieceHash {
    Crc(Box<crc_fast::Digest>),
    Subtree(Box<blake3::Hasher>),
}

/// The value of a piece.
#[derive(Clone, Copy)]
pub(crate) enum PieceValue {
    Crc(u64),
    /// As a part of a tree, and as the whole of one.
    Subtree {
        chained: [u8; 32],
        alone: [u8; 32],
    },
}

impl PieceHash {
    /// Begins the piece at `offset`, a multiple of the pieces' length. None where the algorithm has no pieces.
    pub fn new(algorithm: Algorithm, offset: u64) -> Option<Self> {
        if algorithm == Algorithm::Blake3 {
            let mut hasher = Box::new(blake3::Hasher::new());
            hasher.set_input_offset(offset);
            return Some(Self::Subtree(hasher));
        }
        CrcFacts::of(algorithm).map(|facts| Self::Crc(Box::new(crc_fast::Digest::new(facts.fast))))
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc(digest) => digest.update(bytes),
            Self::Subtree(hasher) => drop(hasher.update(bytes)),
        }
    }

    /// The end of the piece, which began at `offset`.
    pub fn finish(self, offset: u64) -> PieceValue {
        match self {
            Self::Crc(digest) => PieceValue::Crc(digest.finalize()),
            Self::Subtree(hasher) => {
                // An empty piece has no place in a tree, and one that begins elsewhere no hash of its own.
                let chained = if hasher.count() > 0 { hasher.finalize_non_root() } else { [0; 32] };
                let alone = if offset == 0 { *hasher.finalize().as_bytes() } else { [0; 32] };
                PieceValue::Subtree { chained, alone }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::JoinedPieces;
    use crate::stream::stream_hash;
    use proptest::prelude::*;

    fn in_pieces(algorithm: Algorithm, data: &[u8], piece_bytes: usize) -> String {
        let mut joined = JoinedPieces::new(algorithm).expect("it has pieces");
        let pieces: Vec<&[u8]> = if data.is_empty() { vec![data] } else { data.chunks(piece_bytes).collect() };
        let mut offset = 0;
        for piece in pieces {
            let mut hash = PieceHash::new(algorithm, offset).expect("it has pieces");
            piece.chunks(700).for_each(|part| hash.update(part));
            joined.add(&hash.finish(offset), piece.len() as u64);
            offset += piece.len() as u64;
        }
        joined.finish(data.len() as u64).hex()
    }

    fn as_a_whole(algorithm: Algorithm, data: &[u8]) -> String {
        let mut hash = stream_hash(algorithm);
        hash.update(data);
        hash.finish().hex()
    }

    proptest! {
        #[test]
        fn pieces_joined_are_the_whole(data in proptest::collection::vec(any::<u8>(), 0..40_000), power in 10_u32..14) {
            for algorithm in Algorithm::all().filter(|algorithm| algorithm.is_divisible()) {
                prop_assert_eq!(in_pieces(algorithm, &data, 1 << power), as_a_whole(algorithm, &data), "{:?}", algorithm);
            }
        }
    }

    /// Where a file has shrunk meanwhile: the piece will be left out.
    #[test]
    fn an_empty_piece_in_the_middle_does_no_harm() {
        let finished =
            Algorithm::all().filter_map(|algorithm| Some(PieceHash::new(algorithm, 1 << 20)?.finish(1 << 20)));
        assert_eq!(finished.count(), 6, "as many as have pieces");
    }

    #[test]
    fn every_number_of_pieces_makes_the_right_tree() {
        let data = testkit::data::text(40 << 10, 3);
        for bytes in (0..data.len()).step_by(512) {
            let whole = blake3::hash(&data[..bytes]).to_hex().to_string();
            assert_eq!(in_pieces(Algorithm::Blake3, &data[..bytes], 1024), whole, "{bytes}");
        }
    }
}
