//! Values of expressions, and variables that keep one: typed, or as text that is read when an expression needs it.

use std::fmt::Write;

/// A value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

impl Scalar {
    /// Its type in messages.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// Whether it makes a condition true: numbers other than 0 do, NULL does not.
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(value) => value,
            Self::Integer(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// As a boolean, without any conversion.
    pub fn boolean(self) -> Result<bool, String> {
        match self {
            Self::Boolean(value) => Ok(value),
            other => Err(format!("cannot coerce {} to boolean", other.type_name())),
        }
    }

    /// As a whole number; doubles are rounded to even.
    pub fn integer(self) -> Result<i64, String> {
        match self {
            Self::Integer(value) => Ok(value),
            Self::Double(value) => {
                let rounded = libm::rint(value);
                // 2^63 has no i64, and is the smallest double above those that have one.
                let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded);
                if fits { Ok(rounded as i64) } else { Err(format!("double to int overflow for {value}")) }
            }
            other => Err(format!("cannot coerce {} to int", other.type_name())),
        }
    }

    /// As a double.
    pub fn double(self) -> Result<f64, String> {
        match self {
            Self::Integer(value) => Ok(value as f64),
            Self::Double(value) => Ok(value),
            other => Err(format!("cannot coerce {} to double", other.type_name())),
        }
    }

    /// Appends it as pgbench writes it into a statement.
    pub fn write(self, text: &mut String) {
        match self {
            Self::Null => text.push_str("NULL"),
            Self::Boolean(value) => text.push_str(if value { "true" } else { "false" }),
            Self::Integer(value) => write_integer(value, text),
            Self::Double(value) => write_double(value, text),
        }
    }

    /// The value that a text stands for; none if it stands for none.
    pub fn parse(text: &str) -> Option<Self> {
        let is_beginning_of = |word: &str| word.get(..text.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(text));
        let is = |word: &str| word.eq_ignore_ascii_case(text);
        // COMPAT: pgbench takes y, ye, t, tr, f, n and so on for booleans.
        match () {
            () if text.is_empty() => None,
            () if is("null") => Some(Self::Null),
            () if is_beginning_of("true") || is_beginning_of("yes") || is("on") => Some(Self::Boolean(true)),
            () if is_beginning_of("false") || is_beginning_of("no") || is("off") || is("of") => {
                Some(Self::Boolean(false))
            }
            () if is_integer(text) => text.trim_start().parse().ok().map(Self::Integer),
            () => text.trim_start().parse().ok().map(Self::Double),
        }
    }
}

/// Whether a text looks like a whole number, which it then must be.
fn is_integer(text: &str) -> bool {
    let text = text.trim_start();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn write_integer(value: i64, text: &mut String) {
    let _always_written = write!(text, "{value}");
}

/// Appends a double as `%.15g` of C does, with PostgreSQL's words for what is no number.
fn write_double(value: f64, text: &mut String) {
    const DIGITS: i32 = 15;
    if !value.is_finite() {
        text.push_str(if value.is_nan() { "NaN" } else { ["-Infinity", "Infinity"][usize::from(value > 0.0)] });
        return;
    }
    let begin = text.len();
    let _always_written = write!(text, "{value:.14e}");
    let written = &text[begin..];
    let is_negative = written.starts_with('-');
    let (mantissa, exponent) = written.split_once('e').unwrap_or((written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut digits = [0; DIGITS as usize];
    for (digit, byte) in digits.iter_mut().zip(mantissa.bytes().filter(u8::is_ascii_digit)) {
        *digit = byte;
    }
    text.truncate(begin);
    if is_negative {
        text.push('-');
    }
    let used = digits.iter().rposition(|&digit| digit != b'0').map_or(1, |last| last + 1);
    let digits = &digits[..used];
    if (-4..DIGITS).contains(&exponent) {
        write_fixed(digits, exponent, text);
    } else {
        let (first, rest) = digits.split_at(1);
        push_digits(first, text);
        if !rest.is_empty() {
            text.push('.');
            push_digits(rest, text);
        }
        let _always_written = write!(text, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
}

fn write_fixed(digits: &[u8], exponent: i32, text: &mut String) {
    if exponent < 0 {
        text.push_str("0.");
        (exponent..-1).for_each(|_| text.push('0'));
        return push_digits(digits, text);
    }
    let whole = exponent as usize + 1;
    push_digits(&digits[..whole.min(digits.len())], text);
    (digits.len()..whole).for_each(|_| text.push('0'));
    if digits.len() > whole {
        text.push('.');
        push_digits(&digits[whole..], text);
    }
}

fn push_digits(digits: &[u8], text: &mut String) {
    digits.iter().for_each(|&digit| text.push(char::from(digit)));
}

/// A variable of one client. Its text keeps its memory when another value comes.
#[derive(Debug, Default)]
pub(crate) struct Variable {
    content: Content,
    text: String,
}

#[derive(Clone, Copy, Debug, Default)]
enum Content {
    #[default]
    Unset,
    Typed(Scalar),
    Text,
}

impl Clone for Variable {
    fn clone(&self) -> Self {
        Self { content: self.content, text: self.text.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.content = source.content;
        self.text.clone_from(&source.text);
    }
}

/// What stands in a statement for a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Substitute<'a> {
    Typed(Scalar),
    Text(&'a str),
}

impl Variable {
    /// One that has the value that a text stands for.
    pub fn of_text(text: &str) -> Self {
        let mut variable = Self::default();
        variable.set_text(text);
        variable
    }

    /// Gives it a typed value.
    pub fn set(&mut self, value: Scalar) {
        self.content = Content::Typed(value);
    }

    /// Gives it a text. One that is a whole number in its shortest form counts as that number, which servers of every kind can compare.
    pub fn set_text(&mut self, text: &str) {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_shortest = text == "0" || (!digits.starts_with('0') && is_integer(digits) && !digits.starts_with('+'));
        match text.parse() {
            Ok(number) if is_shortest => self.content = Content::Typed(Scalar::Integer(number)),
            _ => {
                self.content = Content::Text;
                self.text.clear();
                self.text.push_str(text);
            }
        }
    }

    /// Its value in an expression.
    pub fn scalar(&self, name: &str) -> Result<Scalar, String> {
        match self.content {
            Content::Unset => Err(format!("variable '{name}' has no value yet")),
            Content::Typed(value) => Ok(value),
            Content::Text => Scalar::parse(&self.text)
                .ok_or_else(|| format!("the value of variable '{name}' is no number: '{}'", shortened(&self.text))),
        }
    }

    /// What stands for it in a statement.
    pub fn substitute(&self, name: &str) -> Result<Substitute<'_>, String> {
        match self.content {
            Content::Unset => Err(format!("variable '{name}' has no value yet")),
            Content::Typed(value) => Ok(Substitute::Typed(value)),
            Content::Text => Ok(Substitute::Text(&self.text)),
        }
    }
}

/// LIMIT: the first 60 characters of a value in a message.
fn shortened(text: &str) -> String {
    text.chars().take(60).map(super::printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f64) -> String {
        let mut text = String::new();
        write_double(value, &mut text);
        text
    }

    #[test]
    fn doubles_are_written_as_percent_15_g_writes_them() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-0.5421, "-0.5421"),
            (12.5, "12.5"),
            (100_000.0, "100000"),
            (0.1 + 0.2, "0.3"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123_456_789_012_345_680.0, "1.23456789012346e+17"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1e100, "1e+100"),
            (std::f64::consts::PI, "3.14159265358979"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, expected) in cases {
            assert_eq!(written(value), expected, "{value:?}");
        }
    }

    #[test]
    fn texts_stand_for_the_values_that_pgbench_sees() {
        let cases = [
            ("", None),
            ("NULL", Some(Scalar::Null)),
            ("t", Some(Scalar::Boolean(true))),
            ("Yes", Some(Scalar::Boolean(true))),
            ("no", Some(Scalar::Boolean(false))),
            ("o", None),
            ("on", Some(Scalar::Boolean(true))),
            ("12", Some(Scalar::Integer(12))),
            ("-0", Some(Scalar::Integer(0))),
            ("9223372036854775808", None),
            ("1.5e2", Some(Scalar::Double(150.0))),
            ("bla", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Scalar::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn only_the_shortest_form_of_a_number_becomes_one() {
        for (text, is_number) in
            [("0", true), ("-5", true), ("007", false), ("+5", false), ("-0", false), ("1.0", false)]
        {
            let variable = Variable::of_text(text);
            let substitute = variable.substitute("x").expect("it is set");
            assert_eq!(matches!(substitute, Substitute::Typed(Scalar::Integer(_))), is_number, "{text}");
        }
    }

    #[test]
    fn a_variable_without_a_value_is_an_error() {
        let variable = Variable::default();
        assert_eq!(variable.scalar("x").expect_err("it has none"), "variable 'x' has no value yet");
        assert!(Variable::of_text("bla").scalar("x").expect_err("it is no number").contains("'bla'"));
    }

    #[test]
    fn conversions_refuse_what_pgbench_refuses() {
        assert_eq!(Scalar::Double(2.5).integer(), Ok(2));
        assert_eq!(Scalar::Double(3.5).integer(), Ok(4));
        assert!(Scalar::Double(1e32).integer().is_err());
        assert!(Scalar::Double(f64::NAN).integer().is_err());
        assert!(Scalar::Boolean(true).integer().is_err());
        assert!(Scalar::Integer(1).boolean().is_err());
        assert!(Scalar::Null.double().is_err());
    }
}
