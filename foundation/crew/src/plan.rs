//! What will be done and why, as pure data. Text and JSON render it; making one changes nothing.

use serde::Serialize;

/// A plan: one line of purpose, then choices, each with its reason.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Plan {
    /// `compress db.export (41.2 GB, regular file on /data, ext4 on nvme0n1)`.
    pub purpose: String,
    /// In the order in which a reader asks.
    pub choices: Vec<PlanChoice>,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanChoice {
    /// What is decided: `format`, `read`, `compress`, `memory`.
    pub subject: String,
    /// What was decided.
    pub decision: String,
    /// Why.
    pub reason: String,
}

impl Plan {
    /// A plan without choices yet.
    pub fn new(purpose: impl Into<String>) -> Self {
        Self { purpose: purpose.into(), choices: Vec::new() }
    }

    /// The choice about `subject`, if there is one.
    pub fn about(&self, subject: &str) -> Option<&PlanChoice> {
        self.choices.iter().find(|choice| choice.subject == subject)
    }

    /// Takes a choice out that is made elsewhere.
    pub fn leave_out(&mut self, subject: &str) {
        self.choices.retain(|choice| choice.subject != subject);
    }

    /// Adds a choice with its reason.
    pub fn choose(&mut self, subject: &str, decision: impl Into<String>, reason: impl Into<String>) {
        self.choices.push(PlanChoice { subject: subject.to_owned(), decision: decision.into(), reason: reason.into() });
    }
}
