//! Test data by length and seed, alike on every machine. Each kind stands for a file people have; none is taken from one.
//! Generation is linear in the length and faster than the codecs it feeds.

use crate::random::Random;
use std::io::Write;

/// Nothing but zero bytes.
pub fn zeros(bytes: usize) -> Vec<u8> {
    vec![0; bytes]
}

/// Random bytes: what encrypted or compressed files look like.
pub fn random(bytes: usize, seed: u64) -> Vec<u8> {
    let mut data = vec![0; bytes];
    Random::seeded(seed).fill(&mut data);
    data
}

/// Words in sentences and lines, where some words follow others often: compresses about as prose does.
pub fn text(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::seeded(seed);
    let words = Vocabulary::new(&mut random);
    let mut data = Vec::with_capacity(bytes + 64);
    let (mut word, mut line_bytes, mut starts_sentence) = (0, 0, true);
    while data.len() < bytes {
        let start = data.len();
        data.extend_from_slice(words.words[word].as_bytes());
        if starts_sentence {
            data[start] = data[start].to_ascii_uppercase();
        }
        starts_sentence = random.once_in(12);
        data.extend_from_slice(if starts_sentence {
            b"."
        } else if random.once_in(10) {
            b","
        } else {
            b""
        });
        line_bytes += data.len() - start + 1;
        data.push(if line_bytes > 72 { b'\n' } else { b' ' });
        line_bytes = if line_bytes > 72 { 0 } else { line_bytes };
        word = words.after(word, &mut random);
    }
    data.truncate(bytes);
    data
}

/// Lines of a web server's log: times that rise, addresses and paths that recur.
pub fn log_lines(bytes: usize, seed: u64) -> Vec<u8> {
    const METHODS: [&str; 4] = ["GET", "GET", "POST", "HEAD"];
    const STATUSES: [u16; 6] = [200, 200, 200, 304, 404, 500];
    let mut random = Random::seeded(seed);
    let words = Vocabulary::new(&mut random);
    let mut data = Vec::with_capacity(bytes + 256);
    let mut time_ms: u64 = 0;
    while data.len() < bytes {
        time_ms += random.below(400) as u64;
        let (seconds, milliseconds) = (time_ms / 1000, time_ms % 1000);
        let (hours, minutes, seconds) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let (host, word) = (random.below(60), random.below(Vocabulary::WORDS));
        let (method, status) = (METHODS[random.below(4)], STATUSES[random.below(6)]);
        let (first, second) = (&words.words[word], &words.words[words.after(word, &mut random)]);
        let size = random.below(90_000);
        let line = writeln!(
            data,
            "2024-05-17T{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}Z 10.1.{}.{host} {method} /{first}/{second}.html {status} {size}",
            host % 7,
        );
        line.expect("a vector takes every write");
    }
    data.truncate(bytes);
    data
}

/// Records of 32 bytes as a database or a measuring device writes them: a counter, a time, a small number, noise, padding.
pub fn records(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::seeded(seed);
    let mut data = Vec::with_capacity(bytes + 32);
    let mut time_ns: u64 = 1_700_000_000_000_000_000;
    let mut number: u64 = 0;
    while data.len() < bytes {
        time_ns += 1_000_000 + random.below(5000) as u64;
        number += 1;
        data.extend_from_slice(&number.to_le_bytes());
        data.extend_from_slice(&time_ns.to_le_bytes());
        data.extend_from_slice(&(random.below(1000) as u32).to_le_bytes());
        data.extend_from_slice(&(random.next_u64() as u32).to_le_bytes());
        data.extend_from_slice(&[0; 8]);
    }
    data.truncate(bytes);
    data
}

/// Long runs of zeros with islands of data, most of them on 4096-byte borders: a virtual machine's disk.
pub fn sparse(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::seeded(seed);
    let mut data = vec![0; bytes];
    let mut at = 0;
    while at < bytes {
        at += 4096 * (1 + random.below(64));
        let off_border = if random.once_in(4) { random.below(4096) } else { 0 };
        let start = (at + off_border).min(bytes);
        let end = (start + 1 + random.below(16_384)).min(bytes);
        random.fill(&mut data[start..end]);
        at = end.next_multiple_of(4096);
    }
    data
}

/// All kinds in stretches of varied length: what a parallel codec meets when its chunks differ in cost.
pub fn mixed(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::seeded(seed);
    let mut data = Vec::with_capacity(bytes);
    while data.len() < bytes {
        let longest = 256 << random.below(12);
        let stretch_bytes = (1 + random.below(longest)).min(bytes - data.len());
        let stretch_seed = random.next_u64();
        data.extend_from_slice(&match random.below(6) {
            0 => zeros(stretch_bytes),
            1 => self::random(stretch_bytes, stretch_seed),
            2 => text(stretch_bytes, stretch_seed),
            3 => log_lines(stretch_bytes, stretch_seed),
            4 => records(stretch_bytes, stretch_seed),
            _ => sparse(stretch_bytes, stretch_seed),
        });
    }
    data
}

/// Invented words, and for each the few that like to follow it.
struct Vocabulary {
    words: Vec<String>,
    followers: Vec<[u16; 6]>,
}

impl Vocabulary {
    const WORDS: usize = 800;

    fn new(random: &mut Random) -> Self {
        const ONSETS: [&str; 16] = ["b", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "st", "t", "th", "v", "w"];
        const NUCLEI: [&str; 8] = ["a", "e", "e", "i", "o", "u", "ea", "ou"];
        const CODAS: [&str; 8] = ["", "", "n", "r", "s", "t", "nd", "ng"];
        let mut words = Vec::with_capacity(Self::WORDS);
        for _ in 0..Self::WORDS {
            let mut word = String::new();
            for _ in 0..=random.below(3) {
                word.push_str(ONSETS[random.below(16)]);
                word.push_str(NUCLEI[random.below(8)]);
                word.push_str(CODAS[random.below(8)]);
            }
            words.push(word);
        }
        let followers = (0..Self::WORDS).map(|_| std::array::from_fn(|_| Self::usual(random) as u16)).collect();
        Self { words, followers }
    }

    /// A word, the frequent ones (low numbers) most often.
    fn usual(random: &mut Random) -> usize {
        let limit = 1 + random.below(Self::WORDS);
        random.below(limit)
    }

    fn after(&self, word: usize, random: &mut Random) -> usize {
        let follower = random.below(8);
        // Two times in eight the text takes a turn.
        self.followers[word].get(follower).map_or_else(|| Self::usual(random), |next| usize::from(*next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Generator = fn(usize, u64) -> Vec<u8>;
    const GENERATORS: [(&str, Generator); 6] = [
        ("random", random),
        ("text", text),
        ("log_lines", log_lines),
        ("records", records),
        ("sparse", sparse),
        ("mixed", mixed),
    ];

    #[test]
    fn every_length_is_kept_exactly() {
        for (name, generate) in GENERATORS {
            for bytes in [0, 1, 31, 4097, 100_000] {
                assert_eq!(generate(bytes, 5).len(), bytes, "{name}");
            }
        }
        assert_eq!(zeros(3), [0, 0, 0]);
    }

    #[test]
    fn the_seed_decides_everything() {
        for (name, generate) in GENERATORS {
            assert_eq!(generate(600_000, 1), generate(600_000, 1), "{name}");
            assert_ne!(generate(600_000, 1), generate(600_000, 2), "{name}");
        }
    }

    #[test]
    fn text_is_lines_of_words() {
        let text = String::from_utf8(text(20_000, 4)).expect("plain ASCII");
        assert!(text.lines().count() > 200);
        assert!(text.lines().all(|line| line.len() < 90));
        assert!(text.chars().all(|letter| letter.is_ascii_alphabetic() || " .,\n".contains(letter)));
    }

    #[test]
    fn sparse_data_are_mostly_zeros_but_not_only() {
        let data = sparse(4 << 20, 7);
        let zeros = data.iter().filter(|byte| **byte == 0).count();
        assert!(zeros > data.len() * 3 / 4 && zeros < data.len() - 1000, "{zeros}");
    }
}
