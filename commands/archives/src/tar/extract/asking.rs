//! `-w` on extraction: the question about a member, when all others have had their say about it.

use super::super::chosen::Chosen;
use super::super::questions::MemberQuestions;
use super::{Taking, Teller};
use archive::extract::{Chooser, Event};
use archive::member::Member;

struct AskingChooser<'a> {
    chosen: Chosen,
    questions: &'a MemberQuestions,
    teller: &'a Teller<'a>,
}

impl Chooser for AskingChooser<'_> {
    fn choose(&mut self, member: &mut Member, _tell: &mut dyn FnMut(Event)) -> Taking {
        // Its reports stand in front of the question.
        match self.chosen.choose(member, &mut |event| self.teller.tell(event)) {
            Taking::Take if !self.teller.confirm(self.questions, "extract", self.chosen.told_place(member)) => {
                Taking::PassOver
            }
            taking => taking,
        }
    }
}

/// The chooser of a run that may ask questions.
pub fn chooser<'a>(
    chosen: Chosen,
    questions: Option<&'a MemberQuestions>,
    teller: &'a Teller<'a>,
) -> Box<dyn Chooser + 'a> {
    match questions {
        Some(questions) => Box::new(AskingChooser { chosen, questions, teller }),
        None => Box::new(chosen),
    }
}
