//! Parses expressions by precedence, as PostgreSQL's own parser has it. Pure: a text in, an expression or the first mistake out.

use super::expression::{ARGUMENTS_MAX, Expression};
use super::function::{self, MathFunction as F};
use super::scalar::Scalar;
use super::token::{self, Token, TokenKind};

/// LIMIT: how deep an expression may be nested, which bounds the stack that parsing, evaluating and dropping it take.
const DEPTH_MAX: usize = 100;

/// A mistake: where in the script, and what.
pub(super) type ScriptMistake = (usize, String);

/// An expression with its depth.
struct Deep {
    expression: Expression,
    depth: usize,
}

/// How strongly operators bind, the weakest first.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const SIGN: u8 = 9;

/// Parses the expression that begins at `from` and takes the rest of the text. `place_of` finds a variable's place by its name.
pub(super) fn parse<'a>(
    text: &'a str,
    from: usize,
    place_of: &'a mut dyn FnMut(&str, usize) -> Result<usize, ScriptMistake>,
) -> Result<Expression, ScriptMistake> {
    let (token, next) = token::next(text, from)?;
    let mut parser = Parser { text, token, next, nesting: 0, place_of };
    let parsed = parser.expression(OR)?;
    match parser.token.kind {
        TokenKind::End => Ok(parsed.expression),
        _ => Err(parser.unexpected("an operator or the end of the line")),
    }
}

struct Parser<'a> {
    text: &'a str,
    token: Token<'a>,
    next: usize,
    nesting: usize,
    place_of: &'a mut dyn FnMut(&str, usize) -> Result<usize, ScriptMistake>,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<(), ScriptMistake> {
        (self.token, self.next) = token::next(self.text, self.next)?;
        Ok(())
    }

    fn unexpected(&self, wanted: &str) -> ScriptMistake {
        let found = match self.token.kind {
            TokenKind::End => "the end of the line".to_owned(),
            _ => format!("'{}'", self.text[self.token.at..self.next].escape_default()),
        };
        (self.token.at, format!("expected {wanted}, found {found}"))
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.token.kind, TokenKind::Name(found) if found.eq_ignore_ascii_case(name))
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.token.kind, TokenKind::Symbol(found) if found == symbol)
    }

    fn take_name(&mut self, name: &str) -> Result<(), ScriptMistake> {
        if !self.is_name(name) {
            return Err(self.unexpected(&name.to_ascii_uppercase()));
        }
        self.advance()
    }

    fn take_symbol(&mut self, symbol: &str) -> Result<(), ScriptMistake> {
        if !self.is_symbol(symbol) {
            return Err(self.unexpected(&format!("'{symbol}'")));
        }
        self.advance()
    }

    /// An expression whose operators bind at least so strongly.
    fn expression(&mut self, least: u8) -> Result<Deep, ScriptMistake> {
        self.nesting += 1;
        if self.nesting > DEPTH_MAX {
            return Err((self.token.at, format!("expressions may be nested {DEPTH_MAX} deep, this one is deeper")));
        }
        let mut left = self.operand()?;
        let mut not_again = None;
        while let Some((strength, at)) = self.operator().filter(|(strength, _)| *strength >= least) {
            // Comparisons have no direction: a < b < c means nothing.
            if not_again == Some(strength) {
                return Err(self.unexpected("parentheses around the comparison before"));
            }
            left = self.continued(left, strength, at)?;
            not_again = matches!(strength, IS | COMPARISON).then_some(strength);
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// How strongly the operator binds that stands here, and where.
    fn operator(&self) -> Option<(u8, usize)> {
        let strength = match self.token.kind {
            TokenKind::Name(_) if self.is_name("or") => OR,
            TokenKind::Name(_) if self.is_name("and") => AND,
            TokenKind::Name(_) if ["is", "isnull", "notnull"].iter().any(|name| self.is_name(name)) => IS,
            TokenKind::Symbol("<" | ">" | "=" | "<=" | ">=" | "<>" | "!=") => COMPARISON,
            TokenKind::Symbol("|" | "#" | "&" | "<<" | ">>") => BITS,
            TokenKind::Symbol("+" | "-") => SUM,
            TokenKind::Symbol("*" | "/" | "%") => PRODUCT,
            _ => return None,
        };
        Some((strength, self.token.at))
    }

    /// What an operator makes of its left side and what follows it.
    fn continued(&mut self, left: Deep, strength: u8, at: usize) -> Result<Deep, ScriptMistake> {
        let operator = self.token;
        self.advance()?;
        if strength == IS {
            return self.is(left, operator, at);
        }
        let right = self.expression(strength + 1)?;
        let symbol = match operator.kind {
            TokenKind::Symbol(symbol) => symbol,
            _ => {
                let depth = deeper([left.depth, right.depth], at)?;
                let sides = Box::new((left.expression, right.expression));
                let expression = if strength == OR { Expression::Or(sides) } else { Expression::And(sides) };
                return Ok(Deep { expression, depth });
            }
        };
        let (function, is_turned) = match symbol {
            "<" => (F::Less, false),
            ">" => (F::Less, true),
            "<=" => (F::LessOrEqual, false),
            ">=" => (F::LessOrEqual, true),
            "=" => (F::Equal, false),
            "<>" | "!=" => (F::NotEqual, false),
            "|" => (F::BitOr, false),
            "#" => (F::BitXor, false),
            "&" => (F::BitAnd, false),
            "<<" => (F::ShiftLeft, false),
            ">>" => (F::ShiftRight, false),
            "+" => (F::Add, false),
            "-" => (F::Subtract, false),
            "*" => (F::Multiply, false),
            "/" => (F::Divide, false),
            _ => (F::Modulo, false),
        };
        let sides = if is_turned { [right, left] } else { [left, right] };
        call(function, sides, at)
    }

    /// `is [not] null|true|false`, `isnull`, `notnull`, behind the operator.
    fn is(&mut self, left: Deep, operator: Token<'_>, at: usize) -> Result<Deep, ScriptMistake> {
        let word = |name: &str| matches!(operator.kind, TokenKind::Name(found) if found.eq_ignore_ascii_case(name));
        let (is_negated, value) = if word("is") {
            let is_negated = self.is_name("not");
            if is_negated {
                self.advance()?;
            }
            let value = match self.token.kind {
                TokenKind::Name(name) => constant(name),
                _ => None,
            };
            let value = value.ok_or_else(|| self.unexpected("NULL, TRUE or FALSE"))?;
            self.advance()?;
            (is_negated, value)
        } else {
            (word("notnull"), Scalar::Null)
        };
        let is = call(F::Is, [left, Deep { expression: Expression::Constant(value), depth: 1 }], at)?;
        if is_negated { call(F::Not, [is], at) } else { Ok(is) }
    }

    fn operand(&mut self) -> Result<Deep, ScriptMistake> {
        let Token { at, kind } = self.token;
        match kind {
            TokenKind::Symbol("(") => {
                self.advance()?;
                let inside = self.expression(OR)?;
                self.take_symbol(")")?;
                Ok(inside)
            }
            TokenKind::Symbol("+") => {
                self.advance()?;
                self.expression(SIGN)
            }
            TokenKind::Symbol("-") => self.negated(at),
            TokenKind::Symbol("~") => {
                self.advance()?;
                let ones = Deep { expression: Expression::Constant(Scalar::Integer(-1)), depth: 1 };
                let operand = self.expression(BITS + 1)?;
                call(F::BitXor, [ones, operand], at)
            }
            TokenKind::Name(_) if self.is_name("not") => {
                self.advance()?;
                let operand = self.expression(NOT)?;
                call(F::Not, [operand], at)
            }
            TokenKind::Name(_) if self.is_name("case") => self.case(at),
            TokenKind::Name(name) => match constant(name) {
                Some(value) => self.leaf(Expression::Constant(value)),
                None => self.function(name, at),
            },
            TokenKind::Integer(value) => match i64::try_from(value) {
                Ok(value) => self.leaf(Expression::Constant(Scalar::Integer(value))),
                Err(_above) => Err((at, format!("{value} is above the largest whole number, {}", i64::MAX))),
            },
            TokenKind::Double(value) => self.leaf(Expression::Constant(Scalar::Double(value))),
            TokenKind::Variable(name) => {
                let place = (self.place_of)(name, at)?;
                self.leaf(Expression::Variable(place))
            }
            TokenKind::Symbol(_) | TokenKind::End => Err(self.unexpected("a value")),
        }
    }

    fn leaf(&mut self, expression: Expression) -> Result<Deep, ScriptMistake> {
        self.advance()?;
        Ok(Deep { expression, depth: 1 })
    }

    /// Behind a minus sign. The smallest number has no positive one.
    fn negated(&mut self, at: usize) -> Result<Deep, ScriptMistake> {
        self.advance()?;
        if self.token.kind == TokenKind::Integer(i64::MIN.unsigned_abs()) {
            return self.leaf(Expression::Constant(Scalar::Integer(i64::MIN)));
        }
        let zero = Deep { expression: Expression::Constant(Scalar::Integer(0)), depth: 1 };
        let operand = self.expression(SIGN)?;
        call(F::Subtract, [zero, operand], at)
    }

    fn case(&mut self, at: usize) -> Result<Deep, ScriptMistake> {
        self.advance()?;
        let (mut cases, mut depth) = (Vec::new(), 0);
        while cases.is_empty() || self.is_name("when") {
            self.take_name("when")?;
            let condition = self.expression(OR)?;
            self.take_name("then")?;
            let value = self.expression(OR)?;
            depth = depth.max(condition.depth).max(value.depth);
            cases.push((condition.expression, value.expression));
        }
        let mut otherwise = Deep { expression: Expression::Constant(Scalar::Null), depth: 1 };
        if self.is_name("else") {
            self.advance()?;
            otherwise = self.expression(OR)?;
        }
        self.take_name("end")?;
        let depth = deeper([depth, otherwise.depth], at)?;
        Ok(Deep { expression: Expression::Case(cases.into(), Box::new(otherwise.expression)), depth })
    }

    fn function(&mut self, name: &str, at: usize) -> Result<Deep, ScriptMistake> {
        self.advance()?;
        if !self.is_symbol("(") {
            return Err((at, format!("'{name}' is no value; a variable is written :{name}")));
        }
        let signature = function::find(name)
            .ok_or_else(|| (at, format!("unknown function '{name}'; there are {}", function::names())))?;
        self.advance()?;
        let mut arguments = Vec::new();
        while !self.is_symbol(")") {
            if !arguments.is_empty() {
                self.take_symbol(",")?;
            }
            if arguments.len() == ARGUMENTS_MAX {
                return Err((self.token.at, format!("{ARGUMENTS_MAX} arguments are the most")));
            }
            arguments.push(self.expression(OR)?);
        }
        self.advance()?;
        let (least, most) = (*signature.arguments.start(), *signature.arguments.end());
        if !signature.arguments.contains(&arguments.len()) {
            let wanted = match (least, most) {
                (least, most) if least == most => least.to_string(),
                (1, ARGUMENTS_MAX) => "1 or more".to_owned(),
                (least, most) => format!("{least} or {most}"),
            };
            return Err((at, format!("{name} was given {} arguments and takes {wanted}", arguments.len())));
        }
        if signature.has_seed && arguments.len() == least {
            let place = (self.place_of)("default_seed", at)?;
            arguments.push(Deep { expression: Expression::Variable(place), depth: 1 });
        }
        call(signature.function, arguments, at)
    }
}

fn constant(name: &str) -> Option<Scalar> {
    let is = |word: &str| name.eq_ignore_ascii_case(word);
    match () {
        () if is("null") => Some(Scalar::Null),
        () if is("true") => Some(Scalar::Boolean(true)),
        () if is("false") => Some(Scalar::Boolean(false)),
        () => None,
    }
}

fn call(function: F, arguments: impl IntoIterator<Item = Deep>, at: usize) -> Result<Deep, ScriptMistake> {
    let (mut expressions, mut depth) = (Vec::new(), 0);
    for argument in arguments {
        depth = depth.max(argument.depth);
        expressions.push(argument.expression);
    }
    let depth = deeper([depth], at)?;
    Ok(Deep { expression: Expression::Call(function, expressions.into()), depth })
}

/// The depth above others. A long sum is deep on its left side, without any nesting of the parser.
fn deeper(depths: impl IntoIterator<Item = usize>, at: usize) -> Result<usize, ScriptMistake> {
    // LIMIT: longer than what is nested by hand, since each operator of a sum adds one.
    const OPERATORS_MAX: usize = 250;
    match depths.into_iter().max().unwrap_or(0) + 1 {
        depth if depth > OPERATORS_MAX => {
            Err((at, format!("an expression may have {OPERATORS_MAX} operators in a row")))
        }
        depth => Ok(depth),
    }
}
