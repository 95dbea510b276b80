//! Expressions of scripts, and how they are evaluated: types and errors are pgbench's.

use super::draws;
use super::function::MathFunction;
use super::scalar::{Scalar, Variable};
use crate::arrivals::RandomSource;

/// LIMIT: arguments of a function, as pgbench has it.
pub(super) const ARGUMENTS_MAX: usize = 16;

/// An expression. Its depth is bounded where it is parsed, so that evaluating it needs a bounded stack.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Constant(Scalar),
    /// A variable by its place.
    Variable(usize),
    Call(MathFunction, Box<[Expression]>),
    /// Both are operands that the right one is evaluated for only when the left one does not decide.
    And(Box<(Expression, Expression)>),
    Or(Box<(Expression, Expression)>),
    /// Conditions with their values, and the value if none is true.
    Case(Box<[(Expression, Expression)]>, Box<Expression>),
}

/// What an expression is evaluated with.
pub(super) struct Evaluation<'a> {
    pub variables: &'a [Variable],
    pub names: &'a [String],
    pub random: &'a mut RandomSource,
}

impl Expression {
    /// Its value.
    pub fn evaluate(&self, with: &mut Evaluation<'_>) -> Result<Scalar, String> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Variable(place) => with.variables[*place].scalar(&with.names[*place]),
            Self::Call(function, arguments) => {
                let mut values = [Scalar::Null; ARGUMENTS_MAX];
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = argument.evaluate(with)?;
                }
                call(*function, &values[..arguments.len()], with.random)
            }
            Self::And(sides) => decide(sides, false, with),
            Self::Or(sides) => decide(sides, true, with),
            Self::Case(cases, otherwise) => {
                for (condition, value) in cases {
                    if condition.evaluate(with)?.is_true() {
                        return value.evaluate(with);
                    }
                }
                otherwise.evaluate(with)
            }
        }
    }

    /// Whether nothing in it can change from one evaluation to the next, but for random draws.
    pub fn has_no_variable(&self) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Variable(_) => false,
            Self::Call(_, arguments) => arguments.iter().all(Self::has_no_variable),
            Self::And(sides) | Self::Or(sides) => sides.0.has_no_variable() && sides.1.has_no_variable(),
            Self::Case(cases, otherwise) => {
                let is_constant = |case: &(Self, Self)| case.0.has_no_variable() && case.1.has_no_variable();
                cases.iter().all(is_constant) && otherwise.has_no_variable()
            }
        }
    }
}

/// `and` is decided by false, `or` by true; NULL on the left decides both.
fn decide(sides: &(Expression, Expression), by: bool, with: &mut Evaluation<'_>) -> Result<Scalar, String> {
    let left = sides.0.evaluate(with)?;
    if left == Scalar::Null || left.boolean()? == by {
        return Ok(left);
    }
    let right = sides.1.evaluate(with)?;
    if right != Scalar::Null {
        right.boolean()?;
    }
    Ok(right)
}

/// The value of a function for its arguments, whose number is right.
pub(super) fn call(function: MathFunction, values: &[Scalar], random: &mut RandomSource) -> Result<Scalar, String> {
    use MathFunction as F;
    if function != F::Is && values.contains(&Scalar::Null) {
        return Ok(Scalar::Null);
    }
    let double = |index: usize| values[index].double();
    let integer = |index: usize| values[index].integer();
    Ok(match function {
        F::Add | F::Subtract | F::Multiply | F::Divide | F::Modulo => {
            return arithmetic(function, values[0], values[1]);
        }
        F::Equal | F::NotEqual | F::Less | F::LessOrEqual => Scalar::Boolean(compare(function, values[0], values[1])?),
        F::Is => Scalar::Boolean(values[0] == values[1]),
        F::Not => Scalar::Boolean(!values[0].boolean()?),
        F::BitAnd => Scalar::Integer(integer(0)? & integer(1)?),
        F::BitOr => Scalar::Integer(integer(0)? | integer(1)?),
        F::BitXor => Scalar::Integer(integer(0)? ^ integer(1)?),
        // As the machine shifts: by the lowest six bits.
        F::ShiftLeft => Scalar::Integer(integer(0)?.wrapping_shl(integer(1)? as u32)),
        F::ShiftRight => Scalar::Integer(integer(0)?.wrapping_shr(integer(1)? as u32)),
        F::Absolute => match values[0] {
            Scalar::Integer(value) => Scalar::Integer(value.checked_abs().ok_or("bigint abs out of range")?),
            other => Scalar::Double(other.double()?.abs()),
        },
        F::Least | F::Greatest => return extreme(function == F::Least, values),
        F::Integer => Scalar::Integer(integer(0)?),
        F::Double => Scalar::Double(double(0)?),
        F::Pi => Scalar::Double(std::f64::consts::PI),
        F::SquareRoot => Scalar::Double(libm::sqrt(double(0)?)),
        F::Logarithm => Scalar::Double(libm::log(double(0)?)),
        F::Exponential => Scalar::Double(libm::exp(double(0)?)),
        F::Power => Scalar::Double(libm::pow(double(0)?, double(1)?)),
        F::HashFnv1a => Scalar::Integer(draws::hash_fnv1a(integer(0)?, integer(1)?)),
        F::HashMurmur2 => Scalar::Integer(draws::hash_murmur2(integer(0)?, integer(1)?)),
        F::Permute => {
            let size = integer(1)?;
            if size <= 0 {
                return Err(format!("permute needs a size above 0, not {size}"));
            }
            Scalar::Integer(draws::permute(integer(0)?, size, integer(2)?))
        }
        F::Random | F::RandomExponential | F::RandomGaussian | F::RandomZipfian => {
            return draw(function, values, random).map(Scalar::Integer);
        }
    })
}

fn arithmetic(function: MathFunction, left: Scalar, right: Scalar) -> Result<Scalar, String> {
    use MathFunction as F;
    let has_double = matches!((left, right), (Scalar::Double(_), _) | (_, Scalar::Double(_)));
    if has_double && function != F::Modulo {
        let (left, right) = (left.double()?, right.double()?);
        return Ok(Scalar::Double(match function {
            F::Add => left + right,
            F::Subtract => left - right,
            F::Multiply => left * right,
            _ => left / right,
        }));
    }
    let (left, right) = (left.integer()?, right.integer()?);
    if right == 0 && matches!(function, F::Divide | F::Modulo) {
        return Err("division by zero".to_owned());
    }
    let (result, name) = match function {
        F::Add => (left.checked_add(right), "add"),
        F::Subtract => (left.checked_sub(right), "sub"),
        F::Multiply => (left.checked_mul(right), "mul"),
        F::Divide => (left.checked_div(right), "div"),
        // Of the smallest number by -1, too.
        _ => (Some(left.wrapping_rem(right)), "mod"),
    };
    result.map(Scalar::Integer).ok_or_else(|| format!("bigint {name} out of range"))
}

fn compare(function: MathFunction, left: Scalar, right: Scalar) -> Result<bool, String> {
    let order = match (left, right) {
        (Scalar::Double(_), _) | (_, Scalar::Double(_)) => left.double()?.partial_cmp(&right.double()?),
        _ => Some(left.integer()?.cmp(&right.integer()?)),
    };
    // What is no number is different from everything, and neither less nor more.
    Ok(match function {
        MathFunction::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
        MathFunction::NotEqual => order.is_none_or(std::cmp::Ordering::is_ne),
        MathFunction::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        _ => order.is_some_and(std::cmp::Ordering::is_le),
    })
}

fn extreme(is_least: bool, values: &[Scalar]) -> Result<Scalar, String> {
    if values.iter().any(|value| matches!(value, Scalar::Double(_))) {
        let mut found = values[0].double()?;
        for value in &values[1..] {
            let value = value.double()?;
            found = if is_least { found.min(value) } else { found.max(value) };
        }
        return Ok(Scalar::Double(found));
    }
    let mut found = values[0].integer()?;
    for value in &values[1..] {
        let value = value.integer()?;
        found = if is_least { found.min(value) } else { found.max(value) };
    }
    Ok(Scalar::Integer(found))
}

fn draw(function: MathFunction, values: &[Scalar], random: &mut RandomSource) -> Result<i64, String> {
    let (min, max) = (values[0].integer()?, values[1].integer()?);
    if min > max {
        return Err(format!("the range from {min} to {max} is empty"));
    }
    if max.checked_sub(min).is_none_or(|difference| difference == i64::MAX) {
        return Err(format!("the range from {min} to {max} is too large"));
    }
    if function == MathFunction::Random {
        return Ok(draws::uniform(random, min, max));
    }
    let parameter = values[2].double()?;
    match function {
        MathFunction::RandomExponential if parameter > 0.0 => Ok(draws::exponential(random, min, max, parameter)),
        MathFunction::RandomExponential => {
            Err(format!("the parameter of random_exponential is to be above 0, not {parameter}"))
        }
        MathFunction::RandomGaussian if parameter >= draws::GAUSSIAN_MIN => {
            Ok(draws::gaussian(random, min, max, parameter))
        }
        MathFunction::RandomGaussian => {
            Err(format!("the parameter of random_gaussian is to be at least 2, not {parameter}"))
        }
        _ if draws::ZIPFIAN_RANGE.contains(&parameter) => Ok(draws::zipfian(random, min, max, parameter)),
        _ => Err(format!("the parameter of random_zipfian is to be from 1.001 to 1000, not {parameter}")),
    }
}
