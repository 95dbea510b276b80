//! Options of pg_dump and pg_restore that are passed on as they are.

/// Options as a program gets them.
#[derive(Default)]
pub struct OptionList(pub Vec<String>);

impl OptionList {
    /// An option with each of these values.
    pub fn each(mut self, name: &str, values: &[String]) -> Self {
        self.0.extend(values.iter().map(|value| format!("--{name}={value}")));
        self
    }

    /// An option without a value.
    pub fn flag(mut self, option: &str, is_set: bool) -> Self {
        self.0.extend(is_set.then(|| option.to_owned()));
        self
    }
}
