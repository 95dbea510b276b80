//! One client: its session, its way through the transaction, and the instants of it.

use super::pipeline::{Pipeline, PipelineProgress};
use super::{GeneratorShared, guarded};
use crate::arrivals::RandomSource;
use crate::ledger::{Failing, Ledger, TransactionTimes};
use crate::player::{PlayerStep, TransactionPlayer};
use crate::session::{Session, SessionLost, SessionReply, SessionRequest, StatementRefusal};
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientState {
    /// Without a transaction.
    Idle,
    /// Between two steps.
    Between,
    /// A statement was sent then.
    Waits { statement: usize, sent: u64, wants_row: bool },
    /// A pipeline was sent, and not all its replies have come.
    WaitsForPipeline,
    /// What undoes a failed transaction was sent; behind it the transaction is begun again, or has failed for good.
    UndoesFor { again: bool },
    /// In a sleep that the script asks for.
    Sleeps,
    /// Without a connection.
    Away,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientProgress {
    /// A reply is to come.
    Waits,
    /// The next step can be taken at once.
    GoesOn,
    /// Until then.
    Sleeps(u64),
    /// The transaction ended, well or not.
    Ended(u64),
    /// The connection is gone.
    Lost,
}

/// One client.
pub(super) struct Client {
    pub player: Box<dyn TransactionPlayer>,
    session: Option<Box<dyn Session>>,
    pub state: ClientState,
    script: usize,
    planned: u64,
    ready: u64,
    /// When its first statement was sent.
    sent: Option<u64>,
    tries: u32,
    keeps_row: bool,
    pipeline: Pipeline,
    /// Whether the loop waits for room to write, too.
    pub waits_for_room: bool,
}

impl Client {
    pub fn new(player: Box<dyn TransactionPlayer>, session: Box<dyn Session>) -> Self {
        Self {
            player,
            session: Some(session),
            state: ClientState::Idle,
            script: 0,
            planned: 0,
            ready: 0,
            sent: None,
            tries: 0,
            keeps_row: false,
            pipeline: Pipeline::default(),
            waits_for_room: false,
        }
    }

    pub fn begin(&mut self, script: usize, planned: u64, ready: u64) {
        (self.script, self.planned, self.ready, self.sent, self.tries) = (script, planned, ready, None, 1);
        self.state = ClientState::Between;
    }

    pub fn is_under_way(&self) -> bool {
        !matches!(self.state, ClientState::Idle | ClientState::Away)
    }

    pub fn take_session(&mut self, session: Box<dyn Session>) {
        (self.session, self.state, self.keeps_row, self.waits_for_room) =
            (Some(session), ClientState::Idle, false, false);
        self.pipeline.clear();
    }

    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.session.as_ref().and_then(|session| session.descriptor())
    }

    pub fn has_unsent(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.has_unsent())
    }

    /// Ends a sleep; false if it was in none.
    pub fn wake(&mut self, _now: u64) -> bool {
        let slept = self.state == ClientState::Sleeps;
        if slept {
            self.state = ClientState::Between;
        }
        slept
    }

    /// Takes the next step of the transaction.
    pub fn take_step(
        &mut self,
        shared: &GeneratorShared,
        ledger: &Mutex<Ledger>,
        random: &mut RandomSource,
    ) -> ClientProgress {
        let now = shared.now();
        let step = match self.player.step(random) {
            Ok(step) => step,
            Err(error) => {
                shared.fail(error.to_string());
                self.state = ClientState::Idle;
                return ClientProgress::Ended(now);
            }
        };
        match step {
            PlayerStep::Sleep(ns) => {
                self.state = ClientState::Sleeps;
                ClientProgress::Sleeps(now.saturating_add(ns))
            }
            PlayerStep::End => {
                let sent = self.sent.unwrap_or(now);
                let times = TransactionTimes { planned: self.planned, ready: self.ready, sent, done: now };
                let mut ledger = guarded(ledger);
                ledger.done(self.script, &times);
                ledger.done_late += u64::from(now > shared.end_ns);
                self.state = ClientState::Idle;
                ClientProgress::Ended(now)
            }
            PlayerStep::Statement { index, request, wants_row } => {
                let Some(session) = &mut self.session else { return ClientProgress::Lost };
                if wants_row != self.keeps_row {
                    session.keep_last_row(wants_row);
                    self.keeps_row = wants_row;
                }
                self.sent.get_or_insert(now);
                self.state = ClientState::Waits { statement: index, sent: now, wants_row };
                match session.begin(&request) {
                    Err(error) => self.lose(&error, shared, ledger),
                    // What answers at once has no descriptor that would tell.
                    Ok(()) if session.answers_at_once() => self.take_reply(shared, ledger),
                    Ok(()) => ClientProgress::Waits,
                }
            }
            of_pipeline => {
                let Some(session) = &mut self.session else { return ClientProgress::Lost };
                if std::mem::take(&mut self.keeps_row) {
                    session.keep_last_row(false);
                }
                self.sent.get_or_insert(now);
                match self.pipeline.take_step(of_pipeline, &mut **session, now) {
                    Ok(PipelineProgress::GoesOn) => ClientProgress::GoesOn,
                    Ok(PipelineProgress::IsSent) => self.take_replies(shared, ledger),
                    Err(error) => self.lose(&error, shared, ledger),
                }
            }
        }
    }

    /// Takes the pipeline's replies that are there.
    fn take_replies(&mut self, shared: &GeneratorShared, ledger: &Mutex<Ledger>) -> ClientProgress {
        let Some(session) = &mut self.session else { return ClientProgress::Waits };
        self.state = ClientState::WaitsForPipeline;
        match self.pipeline.take_replies(&mut **session, self.script, || shared.now(), ledger) {
            Ok(false) => ClientProgress::Waits,
            Ok(true) => match self.pipeline.take_refusal() {
                Some(refusal) => self.undo(&refusal, shared, ledger),
                None => {
                    self.state = ClientState::Between;
                    ClientProgress::GoesOn
                }
            },
            Err(error) => self.lose(&error, shared, ledger),
        }
    }

    /// Takes the reply if it is there.
    pub fn take_reply(&mut self, shared: &GeneratorShared, ledger: &Mutex<Ledger>) -> ClientProgress {
        if self.state == ClientState::WaitsForPipeline {
            return self.take_replies(shared, ledger);
        }
        let Some(session) = &mut self.session else { return ClientProgress::Waits };
        let reply = match session.reply() {
            Ok(Some(reply)) => reply,
            Ok(None) => return ClientProgress::Waits,
            Err(error) => return self.lose(&error, shared, ledger),
        };
        match (self.state, reply) {
            (ClientState::Waits { statement, sent, wants_row }, SessionReply::Done { rows, last_row }) => {
                guarded(ledger).statement(self.script, statement, shared.now().saturating_sub(sent), rows);
                self.state = ClientState::Between;
                if wants_row && let Err(error) = self.player.take_row(last_row.as_deref()) {
                    shared.fail(error.to_string());
                }
                ClientProgress::GoesOn
            }
            (ClientState::Waits { .. }, SessionReply::Refused(refusal)) => self.undo(&refusal, shared, ledger),
            (ClientState::UndoesFor { again }, _) => self.undone(again, shared),
            // A server that talks without being asked: a notice of an end, which the next statement finds out about.
            _ => ClientProgress::Waits,
        }
    }

    /// A statement was refused: the transaction is undone, and begun again where that can help.
    fn undo(&mut self, refusal: &StatementRefusal, shared: &GeneratorShared, ledger: &Mutex<Ledger>) -> ClientProgress {
        let can_help = matches!(refusal.failing, Failing::Deadlock | Failing::Serialization);
        let again =
            can_help && self.tries <= shared.retries_max && !shared.stop.load(std::sync::atomic::Ordering::Relaxed);
        {
            let mut ledger = guarded(ledger);
            match again {
                true => ledger.retries += 1,
                false => ledger.fail(refusal.failing),
            }
        }
        if !again {
            guarded(&shared.first_refusal).get_or_insert_with(|| refusal.message.clone());
        }
        if refusal.failing == Failing::Refused && !shared.goes_on_after_errors {
            shared.fail(refusal.message.clone());
        }
        self.state = ClientState::UndoesFor { again };
        let Some(session) = &mut self.session else { return ClientProgress::Lost };
        match session.begin(&SessionRequest::plain("ROLLBACK")) {
            Err(error) => self.lose(&error, shared, ledger),
            Ok(()) if session.answers_at_once() => self.take_reply(shared, ledger),
            Ok(()) => ClientProgress::Waits,
        }
    }

    fn undone(&mut self, again: bool, shared: &GeneratorShared) -> ClientProgress {
        if again {
            self.tries += 1;
            self.player.begin_again();
            self.state = ClientState::Between;
            return ClientProgress::GoesOn;
        }
        self.state = ClientState::Idle;
        ClientProgress::Ended(shared.now())
    }

    fn lose(&mut self, error: &SessionLost, shared: &GeneratorShared, ledger: &Mutex<Ledger>) -> ClientProgress {
        let _closed = self.session.take();
        if self.is_under_way() {
            guarded(ledger).fail(Failing::Lost);
        }
        if !shared.goes_on_after_errors {
            shared.fail(format!("a connection was lost: {error}"));
        }
        ClientProgress::Lost
    }
}
