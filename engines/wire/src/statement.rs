//! Prepared statements and the values for them.

/// A statement that the server has parsed, valid on the connection that prepared it.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) name: StatementName,
    /// PostgreSQL's types of the parameters by their OIDs; zeros for MySQL, which does not say them.
    pub(crate) parameters: Box<[u32]>,
}

/// What the server knows a statement by.
#[derive(Clone, Debug)]
pub(crate) enum StatementName {
    Postgres(Box<str>),
    MySql(u32),
}

impl Statement {
    /// How many values it takes.
    pub fn parameters(&self) -> usize {
        self.parameters.len()
    }
}

/// A value for a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// Sent in binary if the parameter is an integer, as text otherwise.
    Int(i64),
    /// Sent in binary if the parameter is a floating-point number, as text otherwise.
    Real(f64),
    /// Text, which the server reads as the parameter's type.
    Text(&'a str),
    /// Bytes as they are.
    Bytes(&'a [u8]),
}
