//! The adaptive model: what a decoder has learned from the symbols so far, all in one array so that one pointer serves.

/// Bits of a probability.
pub(super) const PROBABILITY_BITS: u32 = 11;

/// How fast probabilities adapt.
pub(super) const MOVE_BITS: u32 = 5;

/// Where all begin: both ways are equally likely.
const EVEN: u16 = 1 << (PROBABILITY_BITS - 1);

/// States the symbols before may have led to: the first seven behind a literal.
pub(super) const STATES: usize = 12;
pub(super) const LITERAL_STATES: u32 = 7;

/// Position states at the most.
pub(super) const POSITION_STATES: usize = 16;

/// Probabilities of one literal context: a plain tree, and one each for a match byte's bit of 0 and of 1.
pub(super) const LITERAL_ROW: usize = 0x300;

/// The shortest match.
pub(super) const MATCH_BYTES_MIN: u32 = 2;
/// The longest.
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), expect(dead_code, reason = "only the hot loop asks"))]
pub(super) const MATCH_BYTES_MAX: usize = 273;

/// Distance slots below are distances themselves.
pub(super) const SLOT_MODELLED: u32 = 4;
/// Distance slots from this on have bits without probabilities.
pub(super) const SLOT_DIRECT: u32 = 14;

/// Offsets into the array. Rows of 16 are indexed by the position state, the others by the state or a tree's node.
pub(super) const IS_MATCH: usize = 0;
pub(super) const IS_REPEAT_0_LONG: usize = IS_MATCH + STATES * POSITION_STATES;
pub(super) const IS_REPEAT: usize = IS_REPEAT_0_LONG + STATES * POSITION_STATES;
pub(super) const IS_REPEAT_0: usize = IS_REPEAT + 16;
pub(super) const IS_REPEAT_1: usize = IS_REPEAT_0 + 16;
pub(super) const IS_REPEAT_2: usize = IS_REPEAT_1 + 16;
/// Four trees of six bits, by the match's length.
pub(super) const SLOTS: usize = IS_REPEAT_2 + 16;
/// Reverse trees of the modelled slots: that of slot `s` begins at the slot's smallest distance less `s`.
pub(super) const NEAR: usize = SLOTS + 4 * 64;
pub(super) const ALIGN: usize = NEAR + 128;
/// Two sets of length trees.
pub(super) const MATCH_LENGTHS: usize = ALIGN + 16;
pub(super) const REPEAT_LENGTHS: usize = MATCH_LENGTHS + LENGTHS;
pub(super) const LITERALS: usize = REPEAT_LENGTHS + LENGTHS;

/// Offsets into a set of length trees.
pub(super) const LENGTH_IS_NOT_LOW: usize = 0;
pub(super) const LENGTH_IS_HIGH: usize = 1;
pub(super) const LENGTH_LOW: usize = 16;
pub(super) const LENGTH_MIDDLE: usize = LENGTH_LOW + 8 * POSITION_STATES;
pub(super) const LENGTH_HIGH: usize = LENGTH_MIDDLE + 8 * POSITION_STATES;
const LENGTHS: usize = LENGTH_HIGH + 256;

/// All, with the most literal contexts there may be.
pub(super) const PROBABILITIES: usize = LITERALS + (LITERAL_ROW << 4);

/// What a chunk header says of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Properties {
    /// High bits of the byte before that choose a literal's context.
    pub context_bits: u32,
    /// Bits of the position that do.
    pub literal_position_bits: u32,
    /// Bits of the position that choose a position state.
    pub position_bits: u32,
}

impl Properties {
    /// Of the byte in a header; nothing if it is not allowed.
    pub fn of(byte: u8) -> Option<Self> {
        let byte = u32::from(byte);
        let (context_bits, literal_position_bits, position_bits) = (byte % 9, byte / 9 % 5, byte / 45);
        let is_allowed = position_bits <= 4 && context_bits + literal_position_bits <= 4;
        is_allowed.then_some(Self { context_bits, literal_position_bits, position_bits })
    }
}

/// The model and what else lasts from symbol to symbol.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub probabilities: [u16; PROBABILITIES],
    pub properties: Properties,
    /// Below [`STATES`].
    pub state: u32,
    /// The last four distances, less one. Each was inside the dictionary when it was decoded, or is 0.
    pub distances: [u32; 4],
}

impl Model {
    pub fn new() -> Self {
        Self {
            probabilities: [EVEN; PROBABILITIES],
            properties: Properties { context_bits: 0, literal_position_bits: 0, position_bits: 0 },
            state: 0,
            distances: [0; 4],
        }
    }

    pub fn set_properties(&mut self, properties: Properties) {
        self.properties = properties;
    }

    /// Forgets everything but the properties.
    pub fn reset(&mut self) {
        let contexts = self.properties.context_bits + self.properties.literal_position_bits;
        self.probabilities[..LITERALS + (LITERAL_ROW << contexts)].fill(EVEN);
        self.state = 0;
        self.distances = [0; 4];
    }
}

/// The state behind a literal.
#[inline(always)]
pub(super) fn after_literal(state: u32) -> u32 {
    const NEXT: [u8; 16] = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 4, 5, 0, 0, 0, 0];
    u32::from(NEXT[(state & 15) as usize])
}

/// The state behind another symbol: `after` where a literal came before it, else three more.
#[inline(always)]
pub(super) fn after_match(state: u32) -> u32 {
    if state < LITERAL_STATES { 7 } else { 10 }
}

/// The state behind a repeated match.
#[inline(always)]
pub(super) fn after_repeat(state: u32) -> u32 {
    if state < LITERAL_STATES { 8 } else { 11 }
}

/// The state behind a repeated match of one byte.
#[inline(always)]
pub(super) fn after_short_repeat(state: u32) -> u32 {
    if state < LITERAL_STATES { 9 } else { 11 }
}
