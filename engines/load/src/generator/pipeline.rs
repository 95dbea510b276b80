//! What a client has sent in a pipeline and has no reply to yet: replies come in the order of statements, and the first refusal undoes the transaction once all
//! have come.

use super::guarded;
use crate::ledger::Ledger;
use crate::player::PlayerStep;
use crate::session::{Session, SessionLost, SessionReply, StatementRefusal};
use std::collections::VecDeque;
use std::sync::Mutex;

/// A reply that is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// Of the statement with this place in the script.
    Statement(usize),
    /// Of the end of what the server takes as one transaction.
    Synchronization,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PipelineProgress {
    /// The next step can be taken at once.
    GoesOn,
    /// Replies are to come, or there is a reason to undo it.
    IsSent,
}

/// A client's pipeline.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    awaited: VecDeque<Awaited>,
    /// When it was sent: all its statements at once.
    sent: u64,
    refusal: Option<StatementRefusal>,
}

impl Pipeline {
    /// Forgets what was under way: its connection is gone, or it begins anew.
    pub fn clear(&mut self) {
        self.awaited.clear();
        self.refusal = None;
    }

    /// Takes a step; those that are none of a pipeline do nothing.
    pub fn take_step(
        &mut self,
        step: PlayerStep<'_>,
        session: &mut dyn Session,
        now: u64,
    ) -> Result<PipelineProgress, SessionLost> {
        match step {
            PlayerStep::BeginPipeline(statements) => {
                self.clear();
                self.refusal = session.prepare(statements)?.err();
                let goes_on = self.refusal.is_none();
                return Ok(if goes_on { PipelineProgress::GoesOn } else { PipelineProgress::IsSent });
            }
            PlayerStep::Append { index, request } => {
                session.append(&request)?;
                self.awaited.push_back(Awaited::Statement(index));
            }
            PlayerStep::SyncPipeline => self.synchronize(session)?,
            PlayerStep::EndPipeline => {
                self.sent = now;
                self.synchronize(session)?;
                session.send_appended()?;
                return Ok(PipelineProgress::IsSent);
            }
            PlayerStep::Statement { .. } | PlayerStep::Sleep(_) | PlayerStep::End => {}
        }
        Ok(PipelineProgress::GoesOn)
    }

    /// Ends what the server takes as one transaction.
    fn synchronize(&mut self, session: &mut dyn Session) -> Result<(), SessionLost> {
        if session.synchronize()? {
            self.awaited.push_back(Awaited::Synchronization);
        }
        Ok(())
    }

    /// Takes the replies that are there; whether that was all.
    pub fn take_replies(
        &mut self,
        session: &mut dyn Session,
        script: usize,
        now: impl Fn() -> u64,
        ledger: &Mutex<Ledger>,
    ) -> Result<bool, SessionLost> {
        while let Some(&awaited) = self.awaited.front() {
            let Some(reply) = session.reply()? else { return Ok(false) };
            self.awaited.pop_front();
            match (reply, awaited) {
                (SessionReply::Done { rows, .. }, Awaited::Statement(index)) => {
                    guarded(ledger).statement(script, index, now().saturating_sub(self.sent), rows);
                }
                (SessionReply::Refused(refusal), _) => {
                    self.refusal.get_or_insert(refusal);
                }
                (SessionReply::Done { .. }, Awaited::Synchronization) | (SessionReply::Skipped, _) => {}
            }
        }
        Ok(true)
    }

    /// Why the transaction is to be undone, if it is.
    pub fn take_refusal(&mut self) -> Option<StatementRefusal> {
        self.refusal.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Failing;
    use crate::session::SessionRequest;
    use std::os::fd::BorrowedFd;

    /// Answers by a script; nothing where a reply has not come yet.
    struct Scripted(VecDeque<Option<SessionReply>>);

    impl Session for Scripted {
        fn descriptor(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        fn begin(&mut self, _request: &SessionRequest<'_>) -> Result<(), SessionLost> {
            Ok(())
        }

        fn reply(&mut self) -> Result<Option<SessionReply>, SessionLost> {
            self.0.pop_front().ok_or(SessionLost("it was asked for more than it has".to_owned()))
        }

        fn append(&mut self, _request: &SessionRequest<'_>) -> Result<(), SessionLost> {
            Ok(())
        }

        fn synchronize(&mut self) -> Result<bool, SessionLost> {
            Ok(true)
        }
    }

    fn done(rows: u64) -> Option<SessionReply> {
        Some(SessionReply::Done { rows, last_row: None })
    }

    fn refused(message: &str) -> Option<SessionReply> {
        let refusal = StatementRefusal { failing: Failing::Deadlock, message: message.to_owned() };
        Some(SessionReply::Refused(refusal))
    }

    /// Three statements, of which the last is a part of its own, and what came of them: whether all replies were there at each look, and the ledger.
    fn played(replies: Vec<Option<SessionReply>>, looks: usize) -> (Vec<bool>, Ledger, Option<String>) {
        let (mut session, mut pipeline) = (Scripted(replies.into()), Pipeline::default());
        let ledger = Mutex::new(Ledger::default());
        let request = SessionRequest::plain("select 1");
        let append = |index| PlayerStep::Append { index, request };
        let steps = [append(0), append(1), PlayerStep::SyncPipeline, append(2), PlayerStep::EndPipeline];
        let taken = steps.map(|step| pipeline.take_step(step, &mut session, 1_000_000));
        assert_eq!(taken.last(), Some(&Ok(PipelineProgress::IsSent)));
        let clock = std::cell::Cell::new(1_000_000_u64);
        let now = || {
            clock.set(clock.get() + 1_000_000);
            clock.get()
        };
        let look = |_| pipeline.take_replies(&mut session, 0, now, &ledger).expect("it is there");
        let ended: Vec<bool> = (0..looks).map(look).collect();
        assert!(!ended.last().expect("a look") || session.0.is_empty(), "no reply is left behind");
        let refusal = pipeline.take_refusal().map(|refusal| refusal.message);
        (ended, ledger.into_inner().expect("nobody panicked"), refusal)
    }

    #[test]
    fn each_statement_has_its_own_time_in_the_order_of_replies() {
        let (ended, ledger, refusal) = played(vec![done(1), None, done(2), done(0), None, done(3), done(0)], 3);
        assert_eq!((ended, refusal), (vec![false, false, true], None));
        assert_eq!((ledger.statements, ledger.rows), (3, 6));
        let times: Vec<u64> = ledger.scripts[0].statements.iter().map(|times| times.max_ns() / 999_000).collect();
        assert_eq!(times, [1, 2, 3]);
    }

    #[test]
    fn an_error_in_the_midst_is_the_first_one_and_the_rest_is_taken_before_anything_is_undone() {
        let replies = vec![refused("first"), Some(SessionReply::Skipped), done(0), None, refused("second"), done(0)];
        let (ended, ledger, refusal) = played(replies, 2);
        assert_eq!((ended, refusal.as_deref()), (vec![false, true], Some("first")));
        assert_eq!(ledger.statements, 0, "what was refused or passed over has no time");
        let (_, ledger, refusal) = played(vec![done(1), done(1), refused("at its end"), done(1), done(0)], 1);
        assert_eq!((ledger.statements, refusal.as_deref()), (3, Some("at its end")));
    }
}
