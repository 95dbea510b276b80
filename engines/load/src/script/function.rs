//! The functions of expressions, and operators as functions: their names and how many arguments they take.

/// A function or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MathFunction {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Is,
    Not,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Absolute,
    Least,
    Greatest,
    Integer,
    Double,
    Pi,
    SquareRoot,
    Logarithm,
    Exponential,
    Power,
    HashFnv1a,
    HashMurmur2,
    Permute,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
}

/// A function as it is written.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub name: &'static str,
    pub function: MathFunction,
    /// How many arguments it takes.
    pub arguments: std::ops::RangeInclusive<usize>,
    /// Whether the last argument is `:default_seed` if it is left out.
    pub has_seed: bool,
}

const fn takes(name: &'static str, arguments: usize, function: MathFunction) -> Signature {
    Signature { name, function, arguments: arguments..=arguments, has_seed: false }
}

const fn takes_seed(name: &'static str, arguments: usize, function: MathFunction) -> Signature {
    Signature { name, function, arguments: arguments..=arguments + 1, has_seed: true }
}

const fn takes_many(name: &'static str, function: MathFunction) -> Signature {
    Signature { name, function, arguments: 1..=super::expression::ARGUMENTS_MAX, has_seed: false }
}

use MathFunction as F;

/// All functions that a script may call.
const SIGNATURES: &[Signature] = &[
    takes("abs", 1, F::Absolute),
    takes("double", 1, F::Double),
    takes("exp", 1, F::Exponential),
    takes_many("greatest", F::Greatest),
    takes_seed("hash", 1, F::HashMurmur2),
    takes_seed("hash_fnv1a", 1, F::HashFnv1a),
    takes_seed("hash_murmur2", 1, F::HashMurmur2),
    takes("int", 1, F::Integer),
    takes_many("least", F::Least),
    takes("ln", 1, F::Logarithm),
    takes("mod", 2, F::Modulo),
    takes_seed("permute", 2, F::Permute),
    takes("pi", 0, F::Pi),
    takes("pow", 2, F::Power),
    takes("power", 2, F::Power),
    takes("random", 2, F::Random),
    takes("random_exponential", 3, F::RandomExponential),
    takes("random_gaussian", 3, F::RandomGaussian),
    takes("random_zipfian", 3, F::RandomZipfian),
    takes("sqrt", 1, F::SquareRoot),
];

/// The function of a name, whatever its case.
pub(super) fn find(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.name.eq_ignore_ascii_case(name))
}

/// All names, for a message.
pub(super) fn names() -> String {
    SIGNATURES.iter().map(|signature| signature.name).collect::<Vec<_>>().join(", ")
}
