//! PostgreSQL's login: startup, authentication, and what the server says of itself before the first request.
//! Every wait ends with the connection's deadline. Numbers of rounds that a server asks for are bounded by postgres-protocol.

use super::server_messages::{parse, server_error};
use super::{frame, unexpected};
use crate::address::{ServerAddress, TlsMode};
use crate::channel::WireChannel;
use crate::error::WireError;
use crate::tls::end_point;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;

/// LIMIT: a message before anyone is known.
const LOGIN_BYTES_MAX: usize = 64 << 10;

/// What a server says of itself.
#[derive(Debug, Default)]
pub(super) struct PostgresGreeting {
    pub version: String,
    pub pid: i32,
    pub secret: i32,
    /// What it reports of its settings, in its order.
    pub parameters: Vec<(String, String)>,
}

/// Asks for TLS, and begins it; a server without it is an error unless it is only preferred.
pub(super) fn ask_for_tls(channel: &mut WireChannel, address: &ServerAddress, mode: TlsMode) -> Result<(), WireError> {
    frontend::ssl_request(&mut channel.output);
    channel.send()?;
    while channel.input.data().is_empty() {
        channel.fill()?;
    }
    let answer = channel.input.data()[0];
    channel.input.consume(1);
    match answer {
        b'S' => channel.start_tls(address.tls_client()?),
        b'N' if mode == TlsMode::Prefer => Ok(()),
        b'N' => Err(WireError::Tls("the server has none".to_owned())),
        other => Err(WireError::protocol(format!("'{}' when asked for TLS", other.escape_ascii()))),
    }
}

/// Logs in on a fresh channel.
pub(super) fn login(channel: &mut WireChannel, address: &ServerAddress) -> Result<PostgresGreeting, WireError> {
    let refused = |error: std::io::Error| WireError::Authentication(error.to_string());
    frontend::startup_message(address.startup_parameters(), &mut channel.output).map_err(refused)?;
    channel.send_before_answer()?;
    authenticate(channel, address)?;
    let mut greeting = PostgresGreeting::default();
    loop {
        match next_message(channel)? {
            Message::BackendKeyData(body) => (greeting.pid, greeting.secret) = (body.process_id(), body.secret_key()),
            Message::ParameterStatus(body) => {
                if let (Ok(name), Ok(value)) = (body.name(), body.value()) {
                    if name == "server_version" {
                        value.clone_into(&mut greeting.version);
                    }
                    greeting.parameters.push((name.to_owned(), value.to_owned()));
                }
            }
            Message::NoticeResponse(_) => {}
            Message::ReadyForQuery(_) => return Ok(greeting),
            _ => return Err(WireError::protocol("something else than its parameters after the login")),
        }
    }
}

fn authenticate(channel: &mut WireChannel, address: &ServerAddress) -> Result<(), WireError> {
    let missing = || WireError::Authentication("the server asks for a password, and none is given".to_owned());
    let password = || address.password().ok_or_else(missing);
    loop {
        match next_message(channel)? {
            Message::AuthenticationOk => return Ok(()),
            Message::AuthenticationCleartextPassword => send_password(channel, password()?.as_bytes())?,
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(address.user().as_bytes(), password()?.as_bytes(), body.salt());
                send_password(channel, hash.as_bytes())?;
            }
            Message::AuthenticationSasl(body) => scram(channel, &body, password()?)?,
            Message::NoticeResponse(_) => {}
            Message::AuthenticationGss | Message::AuthenticationSspi | Message::AuthenticationKerberosV5 => {
                return Err(WireError::Authentication(
                    "the server asks for Kerberos (GSSAPI or SSPI), which is not spoken".to_owned(),
                ));
            }
            _ => return Err(WireError::protocol("something else than an authentication request")),
        }
    }
}

fn send_password(channel: &mut WireChannel, password: &[u8]) -> Result<(), WireError> {
    let no_zero = |_zero_byte| WireError::Authentication("a password may hold no zero byte".to_owned());
    frontend::password_message(password, &mut channel.output).map_err(no_zero)?;
    channel.send_before_answer()
}

/// SCRAM, to its end: the server has to prove that it knows the password as well.
fn scram(channel: &mut WireChannel, offered: &AuthenticationSaslBody, password: &str) -> Result<(), WireError> {
    let failed = |error: std::io::Error| WireError::Authentication(error.to_string());
    let has = |name: &str| offered.mechanisms().any(|mechanism| Ok(mechanism == name));
    let end_point = channel.server_certificate().and_then(end_point);
    let (mechanism, binding) = match end_point {
        Some(hash) if has(SCRAM_SHA_256_PLUS).map_err(failed)? => {
            (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash))
        }
        // The server hears that it could have been bound: somebody between may have taken the offer away.
        Some(_) => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        None => (SCRAM_SHA_256, ChannelBinding::unrequested()),
    };
    if !has(mechanism).map_err(failed)? {
        return Err(WireError::Authentication("the server offers no SASL mechanism that is spoken".to_owned()));
    }
    let mut scram = ScramSha256::new(password.as_bytes(), binding);
    frontend::sasl_initial_response(mechanism, scram.message(), &mut channel.output).map_err(failed)?;
    channel.send_before_answer()?;
    let Message::AuthenticationSaslContinue(body) = next_message(channel)? else {
        return Err(WireError::protocol("no challenge in SCRAM"));
    };
    scram.update(body.data()).map_err(failed)?;
    frontend::sasl_response(scram.message(), &mut channel.output).map_err(failed)?;
    channel.send_before_answer()?;
    let Message::AuthenticationSaslFinal(body) = next_message(channel)? else {
        return Err(WireError::protocol("no proof that it knows the password"));
    };
    scram.finish(body.data()).map_err(failed)
}

/// Waits for a whole message; the server's refusal is an error.
fn next_message(channel: &mut WireChannel) -> Result<Message, WireError> {
    loop {
        let data = channel.input.data();
        if let Some((tag, bytes)) = frame(data)? {
            if bytes > LOGIN_BYTES_MAX {
                // A server of another kind answers with a text, whose first letters are taken for a length.
                return Err(unexpected(tag, &format!("and {bytes} bytes during the login")));
            }
            if let Some(message) = data.get(..bytes) {
                if tag == b'E' {
                    return Err(WireError::Server(server_error(message)?));
                }
                let message = parse(message)?;
                channel.input.consume(bytes);
                return Ok(message);
            }
        }
        channel.fill()?;
    }
}
