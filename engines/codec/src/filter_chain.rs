//! Chains of liblzma's filters, as values: which filters, with which settings, what they hold in memory, how they stand in
//! headers. Chains of xz blocks, of raw streams and of .lzma files.
//! Reads no command line and no file.

use crate::formats::xz::put_vli;
use liblzma::stream::{Error, Filters, LzmaOptions, MatchFinder, Mode};

/// LIMIT: liblzma's.
pub const FILTERS_MAX: usize = 4;

/// Dictionaries that encoders may have (LZMA_DICT_SIZE_MIN, and 1.5 GiB).
pub const DICTIONARY_BYTES: std::ops::RangeInclusive<u32> = 4096..=(3 << 29);

/// Blocks have three dictionaries, as `xz -T` has it, and this much at least.
const BLOCK_BYTES_MIN: u64 = 1 << 20;

const DELTA_ID: u64 = 0x03;
const LZMA2_ID: u64 = 0x21;

/// Memory that liblzma 5.4 counts for its decoders beside the dictionary, and for the filters before them.
const LZMA1_DECODER_BYTES: u64 = 65_408;
const LZMA2_DECODER_BYTES: u64 = 65_592;
const BRANCH_BYTES: u64 = 1024;
const DELTA_BYTES: u64 = 352;

/// The same for its encoders, beside window and tables.
const LZMA1_ENCODER_BYTES: u64 = 282_560;
const LZMA2_ENCODER_BYTES: u64 = 348_264;

/// Instruction sets whose branches have filters; the values are their identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchKind {
    /// 32 and 64 bits.
    X86 = 0x04,
    /// Big endian.
    PowerPc = 0x05,
    /// Itanium.
    Ia64 = 0x06,
    /// 32 bits.
    Arm = 0x07,
    /// Thumb.
    ArmThumb = 0x08,
    /// SPARC.
    Sparc = 0x09,
    /// 64 bits.
    Arm64 = 0x0a,
    /// 32 and 64 bits.
    RiscV = 0x0b,
}

impl BranchKind {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::X86, Self::Arm, Self::ArmThumb, Self::Arm64, Self::RiscV, Self::PowerPc, Self::Ia64, Self::Sparc];

    /// As xz calls the option.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86",
            Self::PowerPc => "powerpc",
            Self::Ia64 => "ia64",
            Self::Arm => "arm",
            Self::ArmThumb => "armthumb",
            Self::Sparc => "sparc",
            Self::Arm64 => "arm64",
            Self::RiscV => "riscv",
        }
    }
}

/// The way matches are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchFinderKind {
    /// Hash chain, 2 and 3 bytes.
    Hc3,
    /// Hash chain, 2 to 4 bytes.
    Hc4,
    /// Binary tree, 2 bytes.
    Bt2,
    /// Binary tree, 2 and 3 bytes.
    Bt3,
    /// Binary tree, 2 to 4 bytes.
    Bt4,
}

impl MatchFinderKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Hc3, Self::Hc4, Self::Bt2, Self::Bt3, Self::Bt4];

    /// As xz calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hc3 => "hc3",
            Self::Hc4 => "hc4",
            Self::Bt2 => "bt2",
            Self::Bt3 => "bt3",
            Self::Bt4 => "bt4",
        }
    }

    fn hashed_bytes(self) -> u32 {
        match self {
            Self::Bt2 => 2,
            Self::Hc3 | Self::Bt3 => 3,
            Self::Hc4 | Self::Bt4 => 4,
        }
    }

    fn is_tree(self) -> bool {
        matches!(self, Self::Bt2 | Self::Bt3 | Self::Bt4)
    }
}

/// Settings of an LZMA encoder; a decoder needs the first four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LzmaSettings {
    /// The reach of matches.
    pub dictionary_bytes: u32,
    /// lc.
    pub literal_context_bits: u32,
    /// lp.
    pub literal_position_bits: u32,
    /// pb.
    pub position_bits: u32,
    /// Whether the fast mode is used.
    pub is_fast: bool,
    /// A match from this length on is not improved.
    pub nice_length: u32,
    /// The way matches are found.
    pub finder: MatchFinderKind,
    /// Steps of a search; 0 leaves it to the library.
    pub depth: u32,
}

impl LzmaSettings {
    /// Those of a preset (xz(1), -0 to -9 and -e); levels outside are taken to the nearest.
    #[must_use]
    pub fn preset(level: u32, is_extreme: bool) -> Self {
        const MEBIBYTES_QUARTERED: [u32; 10] = [1, 4, 8, 16, 16, 32, 32, 64, 128, 256];
        let level = level.min(9);
        let settings = Self {
            dictionary_bytes: MEBIBYTES_QUARTERED[level as usize] << 18,
            literal_context_bits: 3,
            literal_position_bits: 0,
            position_bits: 2,
            is_fast: level <= 3 && !is_extreme,
            nice_length: [128, 128, 273, 273, 16, 32, 64, 64, 64, 64][level as usize],
            finder: match level {
                0 => MatchFinderKind::Hc3,
                1..=3 => MatchFinderKind::Hc4,
                _ => MatchFinderKind::Bt4,
            },
            depth: [4, 8, 24, 48, 0, 0, 0, 0, 0, 0][level as usize],
        };
        match (is_extreme, level) {
            (false, _) => settings,
            (true, 3 | 5) => Self { finder: MatchFinderKind::Bt4, nice_length: 192, depth: 0, ..settings },
            (true, _) => Self { finder: MatchFinderKind::Bt4, nice_length: 273, depth: 512, ..settings },
        }
    }

    pub(crate) fn options(&self) -> Result<LzmaOptions, Error> {
        let mut options = LzmaOptions::new_preset(0)?;
        options
            .dict_size(self.dictionary_bytes)
            .literal_context_bits(self.literal_context_bits)
            .literal_position_bits(self.literal_position_bits)
            .position_bits(self.position_bits)
            .mode(if self.is_fast { Mode::Fast } else { Mode::Normal })
            .nice_len(self.nice_length)
            .match_finder(match self.finder {
                MatchFinderKind::Hc3 => MatchFinder::HashChain3,
                MatchFinderKind::Hc4 => MatchFinder::HashChain4,
                MatchFinderKind::Bt2 => MatchFinder::BinaryTree2,
                MatchFinderKind::Bt3 => MatchFinder::BinaryTree3,
                MatchFinderKind::Bt4 => MatchFinder::BinaryTree4,
            })
            .depth(self.depth);
        Ok(options)
    }

    /// Window, hash tables and chains or trees, as liblzma makes them.
    fn tables_bytes(&self) -> u64 {
        const BEFORE: u32 = 1 << 12;
        const BEHIND: u32 = BEFORE + 1;
        const LENGTH_MAX: u32 = 273;
        let dictionary = self.dictionary_bytes;
        let reserve = dictionary / 2 + (BEFORE + LENGTH_MAX + BEHIND) / 2 + (1 << 19);
        let window = u64::from(BEFORE + BEHIND + LENGTH_MAX) + u64::from(dictionary) + u64::from(reserve);
        let hashed = self.finder.hashed_bytes();
        let mask = match hashed {
            2 => 0xffff,
            _ => {
                let mask = (dictionary.next_power_of_two() - 1) >> 1 | 0xffff;
                match hashed {
                    3 if mask > 1 << 24 => (1 << 24) - 1,
                    _ if mask > 1 << 24 => mask >> 1,
                    _ => mask,
                }
            }
        };
        let shorter_hashes = [0, 1 << 10, (1 << 10) + (1 << 16)][hashed as usize - 2];
        let links = (u64::from(dictionary) + 1) * if self.finder.is_tree() { 2 } else { 1 };
        window + 4 * (u64::from(mask) + 1 + shorter_hashes + links)
    }
}

/// One filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainFilter {
    /// Makes branches of an instruction set easier to pack; with the offset that the data begin at.
    Branch(BranchKind, u32),
    /// Subtracts the byte so far before: 1 to 256.
    Delta(u16),
    /// LZMA, for .lzma files and raw streams.
    Lzma1(LzmaSettings),
    /// LZMA2, for xz files and raw streams.
    Lzma2(LzmaSettings),
}

impl ChainFilter {
    fn is_last(self) -> bool {
        matches!(self, Self::Lzma1(_) | Self::Lzma2(_))
    }

    /// Identifier and properties as block headers have them.
    fn flags(self) -> (u64, Vec<u8>) {
        match self {
            Self::Branch(kind, 0) => (kind as u64, Vec::new()),
            Self::Branch(kind, start) => (kind as u64, start.to_le_bytes().to_vec()),
            // From 1 to 256.
            Self::Delta(distance) => (DELTA_ID, vec![(distance - 1) as u8]),
            Self::Lzma2(settings) => (LZMA2_ID, vec![dictionary_code(settings.dictionary_bytes)]),
            Self::Lzma1(_) => unreachable!("no block has it: `is_for_blocks`"),
        }
    }

    fn of_flags(id: u64, properties: &[u8]) -> Option<Self> {
        match (id, properties) {
            (DELTA_ID, &[distance]) => Some(Self::Delta(u16::from(distance) + 1)),
            (LZMA2_ID, &[code @ 0..=40]) => {
                // 4 GiB less one byte is the most.
                let dictionary_bytes = u32::try_from(dictionary_size(code)).unwrap_or(u32::MAX);
                Some(Self::Lzma2(LzmaSettings { dictionary_bytes, ..LzmaSettings::preset(6, false) }))
            }
            _ => {
                let kind = BranchKind::ALL.into_iter().find(|kind| *kind as u64 == id)?;
                let start = match properties {
                    [] => 0,
                    properties => u32::from_le_bytes(properties.try_into().ok()?),
                };
                Some(Self::Branch(kind, start))
            }
        }
    }
}

/// One filter to four, in the order of encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterChain {
    filters: [Option<ChainFilter>; FILTERS_MAX],
}

impl FilterChain {
    /// A chain that liblzma takes: LZMA1 or LZMA2 stand at its end and nowhere else.
    #[must_use]
    pub fn new(filters: &[ChainFilter]) -> Option<Self> {
        let (last, others) = filters.split_last()?;
        if filters.len() > FILTERS_MAX || !last.is_last() || others.iter().any(|filter| filter.is_last()) {
            return None;
        }
        let mut chain = [None; FILTERS_MAX];
        chain.iter_mut().zip(filters).for_each(|(place, filter)| *place = Some(*filter));
        Some(Self { filters: chain })
    }

    /// LZMA2 alone.
    #[must_use]
    pub fn lzma2(settings: LzmaSettings) -> Self {
        Self { filters: [Some(ChainFilter::Lzma2(settings)), None, None, None] }
    }

    /// LZMA1 alone.
    #[must_use]
    pub fn lzma1(settings: LzmaSettings) -> Self {
        Self { filters: [Some(ChainFilter::Lzma1(settings)), None, None, None] }
    }

    /// The filters, in the order of encoding.
    pub fn filters(&self) -> impl DoubleEndedIterator<Item = ChainFilter> + Clone + '_ {
        self.filters.iter().flatten().copied()
    }

    /// Whether xz blocks can have it.
    #[must_use]
    pub fn is_for_blocks(&self) -> bool {
        self.filters().all(|filter| !matches!(filter, ChainFilter::Lzma1(_)))
    }

    /// The settings of its LZMA filter.
    #[must_use]
    pub fn settings(&self) -> LzmaSettings {
        let found = self.filters().find_map(|filter| match filter {
            ChainFilter::Lzma1(settings) | ChainFilter::Lzma2(settings) => Some(settings),
            ChainFilter::Branch(..) | ChainFilter::Delta(_) => None,
        });
        found.expect("each chain ends in one")
    }

    /// The same with another dictionary.
    #[must_use]
    pub fn with_dictionary(mut self, dictionary_bytes: u32) -> Self {
        for filter in self.filters.iter_mut().flatten() {
            if let ChainFilter::Lzma1(settings) | ChainFilter::Lzma2(settings) = filter {
                settings.dictionary_bytes = dictionary_bytes;
            }
        }
        self
    }

    /// Uncompressed bytes of a block, where none are asked for.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        (3 * u64::from(self.settings().dictionary_bytes)).max(BLOCK_BYTES_MIN)
    }

    /// Memory of its encoder, as liblzma counts.
    #[must_use]
    pub fn encoder_bytes(&self) -> u64 {
        let of_filter = |filter| match filter {
            ChainFilter::Branch(..) => BRANCH_BYTES,
            ChainFilter::Delta(_) => DELTA_BYTES,
            ChainFilter::Lzma1(settings) => LZMA1_ENCODER_BYTES + settings.tables_bytes(),
            ChainFilter::Lzma2(settings) => LZMA2_ENCODER_BYTES + settings.tables_bytes(),
        };
        self.filters().map(of_filter).sum()
    }

    /// Memory of its decoder, as liblzma counts.
    #[must_use]
    pub fn decoder_bytes(&self) -> u64 {
        let of_filter = |filter| match filter {
            ChainFilter::Branch(..) => BRANCH_BYTES,
            ChainFilter::Delta(_) => DELTA_BYTES,
            ChainFilter::Lzma1(settings) => lzma1_decoder_bytes(settings.dictionary_bytes),
            ChainFilter::Lzma2(settings) => LZMA2_DECODER_BYTES + u64::from(settings.dictionary_bytes),
        };
        self.filters().map(of_filter).sum()
    }

    /// For liblzma, both directions.
    pub(crate) fn to_library(self) -> Result<Filters, Error> {
        let mut filters = Filters::new();
        for filter in self.filters() {
            match filter {
                ChainFilter::Lzma1(settings) => {
                    filters.lzma1(&settings.options()?);
                }
                ChainFilter::Lzma2(settings) => {
                    filters.lzma2(&settings.options()?);
                }
                ChainFilter::Branch(..) | ChainFilter::Delta(_) => {
                    let (id, properties) = filter.flags();
                    add_properties(&mut filters, id, &properties).ok_or(Error::Options)??;
                }
            }
        }
        Ok(filters)
    }

    /// Appends what block headers tell of it.
    pub(crate) fn put_flags(&self, header: &mut Vec<u8>) {
        for filter in self.filters() {
            let (id, properties) = filter.flags();
            put_vli(id, header);
            put_vli(properties.len() as u64, header);
            header.extend(properties);
        }
    }

    /// The chain that a block header tells, as far as a decoder must know it.
    pub(crate) fn of_flags(flags: &[(u64, Vec<u8>)]) -> Option<Self> {
        let filters: Option<Vec<_>> =
            flags.iter().map(|(id, properties)| ChainFilter::of_flags(*id, properties)).collect();
        Self::new(&filters?)
    }

    /// The number of its filters.
    pub(crate) fn len(&self) -> usize {
        self.filters().count()
    }
}

/// Memory of a decoder of LZMA1.
pub(crate) fn lzma1_decoder_bytes(dictionary_bytes: u32) -> u64 {
    LZMA1_DECODER_BYTES + u64::from(dictionary_bytes)
}

/// Adds a filter of a block header; nothing if its identifier is not known.
pub(crate) fn add_properties(filters: &mut Filters, id: u64, bytes: &[u8]) -> Option<Result<(), Error>> {
    let added = match id {
        DELTA_ID => filters.delta_properties(bytes),
        0x04 => filters.x86_properties(bytes),
        0x05 => filters.powerpc_properties(bytes),
        0x06 => filters.ia64_properties(bytes),
        0x07 => filters.arm_properties(bytes),
        0x08 => filters.arm_thumb_properties(bytes),
        0x09 => filters.sparc_properties(bytes),
        0x0a => filters.arm64_properties(bytes),
        0x0b => filters.riscv_properties(bytes),
        LZMA2_ID => filters.lzma2_properties(bytes),
        _ => return None,
    };
    Some(added.map(|_| ()))
}

/// The smallest property byte of LZMA2 for a dictionary of at least `bytes` (The .xz File Format, section 5.3.1).
pub(crate) fn dictionary_code(bytes: u32) -> u8 {
    (0..40).find(|&code| dictionary_size(code) >= u64::from(bytes)).unwrap_or(40)
}

pub(crate) fn dictionary_size(code: u8) -> u64 {
    if code >= 40 { u64::from(u32::MAX) } else { (2 | u64::from(code & 1)) << (code / 2 + 11) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use liblzma::stream::{Action, PRESET_EXTREME, Stream};

    fn encoded(filters: &Filters, bytes: &[u8]) -> Vec<u8> {
        let mut stream = Stream::new_raw_encoder(filters).expect("a chain");
        let mut packed = Vec::with_capacity(bytes.len() + 1024);
        stream.process_vec(bytes, &mut packed, Action::Finish).expect("encode");
        packed
    }

    #[test]
    fn presets_are_those_of_the_library() {
        let bytes = testkit::data::mixed(200_000, 8);
        for level in 0..=9 {
            for (is_extreme, flag) in [(false, 0), (true, PRESET_EXTREME)] {
                let ours = FilterChain::lzma2(LzmaSettings::preset(level, is_extreme)).to_library().expect("a chain");
                let mut theirs = Filters::new();
                theirs.lzma2(&LzmaOptions::new_preset(level | flag).expect("a preset"));
                assert!(encoded(&ours, &bytes) == encoded(&theirs, &bytes), "{level} {is_extreme}");
            }
        }
    }

    /// The figures of xz 5.4.1: the lowest limits that it takes with --no-adjust.
    #[test]
    fn memory_is_counted_as_by_xz() {
        let lzma2 = |settings| FilterChain::lzma2(settings).encoder_bytes();
        let preset = LzmaSettings::preset;
        assert_eq!(
            [0, 1, 3, 6, 9].map(|level| lzma2(preset(level, false))),
            [2_855_431, 9_015_815, 32_608_775, 97_620_491, 705_794_571]
        );
        assert_eq!(lzma2(preset(3, true)), 49_385_995);
        assert_eq!(lzma2(LzmaSettings { dictionary_bytes: 4096, ..preset(6, false) }), 1_452_555);
        let (hc3, bt2, bt3) = (MatchFinderKind::Hc3, MatchFinderKind::Bt2, MatchFinderKind::Bt3);
        assert_eq!(lzma2(LzmaSettings { dictionary_bytes: 64 << 20, finder: hc3, ..preset(6, false) }), 437_096_967);
        assert_eq!(lzma2(LzmaSettings { finder: bt2, ..preset(6, false) }), 80_839_179);
        assert_eq!(lzma2(LzmaSettings { dictionary_bytes: 100 << 20, finder: bt3, ..preset(6, false) }), 1_064_145_419);
        assert_eq!(FilterChain::lzma1(preset(6, false)).encoder_bytes(), 97_554_787);
        let last = ChainFilter::Lzma2(preset(6, false));
        let chain = FilterChain::new(&[ChainFilter::Branch(BranchKind::X86, 0), ChainFilter::Delta(1), last]);
        assert_eq!(chain.expect("a chain").decoder_bytes(), (8 << 20) + 65_592 + 1024 + 352);
    }

    #[test]
    fn chains_end_in_lzma_and_have_it_nowhere_else() {
        let (delta, last) = (ChainFilter::Delta(4), ChainFilter::Lzma2(LzmaSettings::preset(1, false)));
        assert!(FilterChain::new(&[]).is_none() && FilterChain::new(&[delta]).is_none());
        assert!(FilterChain::new(&[last, last]).is_none() && FilterChain::new(&[last, delta]).is_none());
        assert!(FilterChain::new(&[delta, delta, delta, delta, last]).is_none());
        let chain = FilterChain::new(&[delta, delta, delta, last]).expect("four filters");
        assert_eq!((chain.len(), chain.with_dictionary(4096).settings().dictionary_bytes), (4, 4096));
    }

    #[test]
    fn headers_tell_chains_again() {
        let last = ChainFilter::Lzma2(LzmaSettings::preset(6, false));
        for kind in BranchKind::ALL {
            for first in [ChainFilter::Branch(kind, 0), ChainFilter::Branch(kind, 4096), ChainFilter::Delta(256)] {
                let chain = FilterChain::new(&[first, last]).expect("a chain");
                let flags: Vec<_> = chain.filters().map(ChainFilter::flags).collect();
                assert_eq!(FilterChain::of_flags(&flags), Some(chain));
            }
        }
    }

    #[test]
    fn dictionary_codes_round_up() {
        assert_eq!(dictionary_size(dictionary_code(4096)), 4096);
        assert_eq!(dictionary_size(dictionary_code(4097)), 6144);
        assert_eq!(dictionary_size(dictionary_code(8 << 20)), 8 << 20);
        assert_eq!(dictionary_code(u32::MAX), 40);
    }
}
