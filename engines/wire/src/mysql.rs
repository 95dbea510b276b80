//! MySQL's protocol, as MySQL and MariaDB speak it: requests written, replies read. Rows are skipped by their length unless they are kept.
//! What a server sends is read by code of ours, which no lie makes panic; flags, scrambles and RSA are mysql_common's.

mod authentication;
mod bulk_rows;
mod fields;
mod login;
mod packets;
mod rows;
mod values;

use crate::address::{ServerAddress, TlsMode};
use crate::channel::WireChannel;
use crate::connection::ReplyStep;
use crate::error::{ServerError, WireError};
use crate::reply::ReplyTally;
use crate::statement::{Statement, StatementName, Value};
use bytes::BufMut;
use mysql_common::constants::{CapabilityFlags, MAX_PAYLOAD_LEN};
use packets::{Header, PREFIX_BYTES, PreparedHead, ResultEnd, put_command, result_columns, server_error};
pub use rows::RowPart;
use rows::{ColumnForm, put_binary_row, put_text_row};
use std::collections::{HashMap, VecDeque};

/// LIMIT: the largest `max_allowed_packet` that a server can have.
const REQUEST_BYTES_MAX: usize = 1 << 30;

/// LIMIT: what must be held whole: an error, a row that is kept.
pub(crate) const WHOLE_BYTES_MAX: usize = 64 << 20;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// A request whose reply is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    kind: RequestKind,
    /// The number of its reply's first packet.
    sequence: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestKind {
    Text,
    Prepare,
    /// The execution of this statement: its rows are binary.
    Execute(u32),
}

/// What the next packet of a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first one of a result.
    Head,
    /// Definitions, so many.
    Definitions { of: Defined, left: u64 },
    /// The packet behind definitions, which newer servers leave out.
    DefinitionsEnd { of: Defined },
    /// Rows, then their end.
    Rows,
}

/// What definitions are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defined {
    /// Parameters of a statement that is being prepared.
    Parameters,
    /// Its columns.
    PreparedColumns,
    /// Columns of a result, whose rows follow.
    ResultColumns,
}

/// What a logged-in connection knows.
#[derive(Debug)]
pub(crate) struct MySqlSession {
    version: String,
    id: u32,
    capabilities: CapabilityFlags,
    /// Definitions of a statement's columns come once and again when they have changed, not with each result.
    caches_columns: bool,
    requests: VecDeque<Request>,
    phase: Phase,
    /// The number of the next packet of the reply.
    sequence: Option<u8>,
    /// The next packet goes on with one that is skipped.
    skips_rest: bool,
    /// The begin of a payload that several packets carry.
    long: Vec<u8>,
    /// Columns whose definitions are coming.
    columns: Vec<ColumnForm>,
    /// Columns of prepared statements, as binary rows cannot be read without.
    statements: HashMap<u32, Vec<ColumnForm>>,
    prepared: PreparedHead,
    /// A file that the server asks for is the caller's affair.
    pub offers_files: bool,
    /// LIMIT: what is held whole.
    pub whole_bytes_max: usize,
}

impl MySqlSession {
    /// Logs in, with this much of TLS.
    pub fn log_in(channel: &mut WireChannel, address: &ServerAddress, tls: TlsMode) -> Result<Self, WireError> {
        let greeting = login::login(channel, address, tls)?;
        Ok(Self {
            version: greeting.version,
            id: greeting.id,
            capabilities: greeting.capabilities,
            caches_columns: greeting.caches_columns,
            requests: VecDeque::new(),
            phase: Phase::Head,
            sequence: None,
            skips_rest: false,
            long: Vec::new(),
            columns: Vec::new(),
            statements: HashMap::new(),
            prepared: PreparedHead::default(),
            offers_files: false,
            whole_bytes_max: WHOLE_BYTES_MAX,
        })
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    pub fn queue_text(&mut self, channel: &mut WireChannel, sql: &str) -> Result<(), WireError> {
        self.queue(channel, RequestKind::Text, COM_QUERY, sql.as_bytes())
    }

    pub fn queue_prepare(&mut self, channel: &mut WireChannel, sql: &str) -> Result<(), WireError> {
        self.queue(channel, RequestKind::Prepare, COM_STMT_PREPARE, sql.as_bytes())
    }

    pub fn queue_bytes(&mut self, channel: &mut WireChannel, sql: &[u8]) -> Result<(), WireError> {
        self.queue(channel, RequestKind::Text, COM_QUERY, sql)
    }

    fn queue(
        &mut self,
        channel: &mut WireChannel,
        kind: RequestKind,
        command: u8,
        sql: &[u8],
    ) -> Result<(), WireError> {
        may_request(channel, sql.len())?;
        let sequence = put_command(&mut channel.output, command, sql);
        self.requests.push_back(Request { kind, sequence });
        Ok(())
    }

    /// The statement whose preparation has just succeeded.
    pub fn prepared(&mut self) -> Result<Statement, WireError> {
        let PreparedHead { id, parameters, .. } = self.prepared;
        Ok(Statement { name: StatementName::MySql(id), parameters: vec![0; usize::from(parameters)].into() })
    }

    pub fn queue_prepared(
        &mut self,
        channel: &mut WireChannel,
        statement: &Statement,
        values: &[Value],
    ) -> Result<(), WireError> {
        let StatementName::MySql(id) = statement.name else {
            return Err(WireError::Request("a statement of PostgreSQL was given to a connection to MySQL"));
        };
        may_request(channel, values::payload_bytes(values))?;
        let sequence = values::put_execute(&mut channel.output, COM_STMT_EXECUTE, id, values);
        self.requests.push_back(Request { kind: RequestKind::Execute(id), sequence });
        Ok(())
    }

    /// Takes one packet.
    pub fn step(&mut self, channel: &mut WireChannel, tally: &mut ReplyTally) -> Result<ReplyStep, WireError> {
        let data = channel.input.data();
        let Some(header) = Header::of(data) else { return Ok(ReplyStep::NeedsInput) };
        let first = data.get(PREFIX_BYTES).copied().filter(|_| header.payload_bytes > 0);
        if first.is_none() && header.payload_bytes > 0 {
            return Ok(ReplyStep::NeedsInput);
        }
        let is_rest = self.skips_rest;
        if is_rest || self.is_skipped(header, first, tally) {
            self.check_sequence(header)?;
            self.skips_rest = header.is_full();
            channel.input.skip(header.bytes() as u64);
            return Ok(if is_rest { ReplyStep::Taken } else { self.skipped(tally) });
        }
        let Some(payload) = header.payload(data) else { return Ok(ReplyStep::NeedsInput) };
        let order = self.check_sequence(header);
        // COMPAT: a server that ends a session may not have read the last packets, and counts its error without them.
        if order.is_err() && first == Some(0xff) && self.phase == Phase::Head {
            tally.refused = Some(ServerError { is_fatal: true, ..server_error(payload)? });
            channel.input.consume(header.bytes());
            return Ok(self.finish());
        }
        order?;
        if !header.is_full() && self.long.is_empty() {
            let step = self.take(payload, tally);
            channel.input.consume(header.bytes());
            return self.with_answer(channel, step);
        }
        self.put_long(payload)?;
        channel.input.consume(header.bytes());
        if header.is_full() {
            return Ok(ReplyStep::Taken);
        }
        let payload = std::mem::take(&mut self.long);
        let step = self.take(&payload, tally);
        self.with_answer(channel, step)
    }

    /// Replies count their packets on from their request's.
    fn check_sequence(&mut self, header: Header) -> Result<(), WireError> {
        let Some(request) = self.requests.front() else { return Ok(()) };
        let expected = self.sequence.unwrap_or(request.sequence);
        if header.sequence != expected {
            return Err(WireError::protocol(format!("packet {} where {expected} is next", header.sequence)));
        }
        self.sequence = Some(expected.wrapping_add(1));
        Ok(())
    }

    /// The number of the next packet, if it is the client's.
    pub fn next_sequence(&mut self) -> u8 {
        let sequence = self.sequence.unwrap_or(0);
        self.sequence = Some(sequence.wrapping_add(1));
        sequence
    }

    fn kind(&self) -> Option<RequestKind> {
        self.requests.front().map(|request| request.kind)
    }

    /// Whether a payload that begins so is not looked at: a row, or a definition, that nobody wants.
    fn is_skipped(&self, header: Header, first: Option<u8>, tally: &ReplyTally) -> bool {
        match self.phase {
            Phase::Rows => !tally.keeps_rows() && self.is_row(header.payload_bytes, first),
            Phase::Definitions { of, .. } => !self.wants(of, tally) && first != Some(0xff),
            Phase::Head | Phase::DefinitionsEnd { .. } => false,
        }
    }

    fn is_row(&self, payload_bytes: usize, first: Option<u8>) -> bool {
        let end_bytes = if self.has_newer_ends() { MAX_PAYLOAD_LEN } else { 9 };
        match first {
            Some(0xfe) => payload_bytes >= end_bytes,
            Some(0xff) | None => false,
            Some(_) => true,
        }
    }

    fn has_newer_ends(&self) -> bool {
        self.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
    }

    /// Definitions that do not come again are kept, as rows may be wanted later.
    fn wants(&self, of: Defined, tally: &ReplyTally) -> bool {
        let is_execution = matches!(self.kind(), Some(RequestKind::Execute(_)));
        match of {
            Defined::Parameters => false,
            Defined::PreparedColumns => self.caches_columns,
            Defined::ResultColumns => is_execution && (self.caches_columns || tally.keeps_rows()),
        }
    }

    fn skipped(&mut self, tally: &mut ReplyTally) -> ReplyStep {
        match self.phase {
            Phase::Definitions { of, left } => self.definition_taken(of, left),
            _ => {
                tally.rows += 1;
                ReplyStep::Taken
            }
        }
    }

    fn put_long(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let bytes = self.long.len() + payload.len();
        let limit = self.whole_bytes_max;
        if bytes > limit {
            return Err(WireError::TooLarge { what: "a packet", bytes: bytes as u64, limit: limit as u64 });
        }
        self.long.extend_from_slice(payload);
        Ok(())
    }

    /// Takes a whole payload.
    fn take(&mut self, payload: &[u8], tally: &mut ReplyTally) -> Result<ReplyStep, WireError> {
        let first = payload.first().copied();
        if first == Some(0xff) {
            tally.refused = Some(server_error(payload)?);
            return Ok(if self.requests.is_empty() { ReplyStep::Taken } else { self.finish() });
        }
        let Some(kind) = self.kind() else { return Err(WireError::protocol("a packet without a request")) };
        match self.phase {
            Phase::Head => self.take_head(kind, payload, tally),
            Phase::Definitions { of, left } => {
                self.columns.push(ColumnForm::of(payload)?);
                Ok(self.definition_taken(of, left))
            }
            Phase::DefinitionsEnd { of } if first == Some(0xfe) => Ok(self.definitions_end(of)),
            Phase::DefinitionsEnd { .. } => Err(WireError::protocol("something else than the end of definitions")),
            Phase::Rows if self.is_row(payload.len(), first) => {
                tally.rows += 1;
                match kind {
                    RequestKind::Execute(id) => {
                        let columns = self.statements.get(&id).map(Vec::as_slice).unwrap_or_default();
                        put_binary_row(payload, columns, &mut tally.row)?;
                    }
                    RequestKind::Text | RequestKind::Prepare => put_text_row(payload, &mut tally.row)?,
                }
                tally.take_row()?;
                Ok(ReplyStep::Taken)
            }
            Phase::Rows if first == Some(0xfe) && self.has_newer_ends() => {
                Ok(self.result_end(ResultEnd::of_ok(payload)?, tally))
            }
            Phase::Rows => Ok(self.result_end(ResultEnd::of_eof(payload)?, tally)),
        }
    }

    fn take_head(&mut self, kind: RequestKind, payload: &[u8], tally: &mut ReplyTally) -> Result<ReplyStep, WireError> {
        match (payload.first(), kind) {
            (Some(0x00), RequestKind::Prepare) => {
                self.prepared = PreparedHead::of(payload)?;
                self.columns.clear();
                Ok(self.begin_definitions(Defined::Parameters, self.prepared.parameters.into()))
            }
            (_, RequestKind::Prepare) => Err(WireError::protocol("something else than a prepared statement")),
            (Some(0x00), _) => Ok(self.result_end(ResultEnd::of_ok(payload)?, tally)),
            (Some(0xfb), RequestKind::Text) => {
                Err(WireError::LocalFile(String::from_utf8_lossy(&payload[1..]).into_owned()))
            }
            _ => {
                let (count, follow) = result_columns(payload, self.caches_columns)?;
                self.columns.clear();
                self.phase = Phase::Rows;
                Ok(if follow { self.begin_definitions(Defined::ResultColumns, count) } else { ReplyStep::Taken })
            }
        }
    }

    /// No definitions have no end either.
    fn begin_definitions(&mut self, of: Defined, count: u64) -> ReplyStep {
        if count == 0 {
            return self.definitions_end(of);
        }
        self.phase = Phase::Definitions { of, left: count };
        ReplyStep::Taken
    }

    fn definition_taken(&mut self, of: Defined, left: u64) -> ReplyStep {
        if left > 1 {
            self.phase = Phase::Definitions { of, left: left - 1 };
            ReplyStep::Taken
        } else if self.has_newer_ends() {
            self.definitions_end(of)
        } else {
            self.phase = Phase::DefinitionsEnd { of };
            ReplyStep::Taken
        }
    }

    fn definitions_end(&mut self, of: Defined) -> ReplyStep {
        match (of, self.kind()) {
            (Defined::Parameters, _) => self.begin_definitions(Defined::PreparedColumns, self.prepared.columns.into()),
            (Defined::PreparedColumns, _) => {
                self.statements.insert(self.prepared.id, std::mem::take(&mut self.columns));
                self.finish()
            }
            (Defined::ResultColumns, kind) => {
                if let Some(RequestKind::Execute(id)) = kind.filter(|_| !self.columns.is_empty()) {
                    self.statements.insert(id, std::mem::take(&mut self.columns));
                }
                self.phase = Phase::Rows;
                ReplyStep::Taken
            }
        }
    }

    fn result_end(&mut self, end: ResultEnd, tally: &mut ReplyTally) -> ReplyStep {
        tally.affected = tally.affected.saturating_add(end.affected);
        if end.has_more {
            self.phase = Phase::Head;
            return ReplyStep::Taken;
        }
        self.finish()
    }

    fn finish(&mut self) -> ReplyStep {
        self.requests.pop_front();
        (self.phase, self.sequence) = (Phase::Head, None);
        ReplyStep::ReplyEnds
    }

    /// A server that asks for a file gets an empty one, so that it goes on; the caller is told, and this connection is over.
    fn with_answer(
        &self,
        channel: &mut WireChannel,
        step: Result<ReplyStep, WireError>,
    ) -> Result<ReplyStep, WireError> {
        if !self.offers_files
            && let Err(WireError::LocalFile(_)) = step
        {
            channel.output.put_u32_le(u32::from(self.sequence.unwrap_or(0)) << 24);
            channel.send()?;
        }
        step
    }
}

/// Whether a request of so many bytes may be appended.
fn may_request(channel: &WireChannel, bytes: usize) -> Result<(), WireError> {
    if bytes >= REQUEST_BYTES_MAX {
        let (bytes, limit) = (bytes as u64, REQUEST_BYTES_MAX as u64);
        return Err(WireError::TooLarge { what: "a request", bytes, limit });
    }
    channel.may_queue(bytes)
}
