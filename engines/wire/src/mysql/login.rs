//! MySQL's login: the server's greeting, the client's answer, and authentication by the plugin that the server wants.
//! Every wait ends with the connection's deadline.

use super::authentication::{Plugin, Proof};
use super::fields::PacketFields;
use super::packets::{Header, server_error};
use crate::address::{ServerAddress, TlsMode};
use crate::channel::WireChannel;
use crate::error::WireError;
use bytes::BufMut;
use mysql_common::collations::CollationId;
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::packets::{AuthPlugin, HandshakeResponse, SslRequest};
use mysql_common::proto::MySerialize;

/// LIMIT: a packet before anyone is known.
const LOGIN_BYTES_MAX: usize = 64 << 10;

/// LIMIT: packets that the server may send us, as it is told; none is held whole that is larger.
const PACKET_BYTES_MAX: u32 = 1 << 30;

/// What a logged-in connection knows of its server.
#[derive(Debug)]
pub(super) struct MySqlGreeting {
    pub version: String,
    pub id: u32,
    pub capabilities: CapabilityFlags,
    pub caches_columns: bool,
    has_tls: bool,
    mariadb: MariadbCapabilities,
    nonce: Vec<u8>,
    plugin: Vec<u8>,
}

impl MySqlGreeting {
    fn of(payload: &[u8]) -> Result<Self, WireError> {
        if payload.first() == Some(&0xff) {
            return Err(WireError::Server(server_error(payload)?));
        }
        let parsed = Self::parse(PacketFields(payload));
        parsed.ok_or_else(|| WireError::protocol("a greeting that is none of MySQL's"))
    }

    /// Version 10 of the protocol, with what came later.
    fn parse(mut fields: PacketFields) -> Option<Self> {
        let _protocol = fields.u8().filter(|version| *version == 10)?;
        let version = String::from_utf8_lossy(fields.until_zero()?).into_owned();
        let id = fields.u32()?;
        let mut nonce = fields.take(8)?.to_vec();
        fields.take(1)?;
        let low = u32::from(fields.u16()?);
        fields.take(3)?;
        let server = CapabilityFlags::from_bits_truncate(low | u32::from(fields.u16()?) << 16);
        let nonce_bytes = usize::from(fields.u8()?);
        fields.take(6)?;
        let further = fields.u32()?;
        // MariaDB says by a missing flag that it has further ones; MySQL's field for them is empty.
        let is_mariadb = !server.contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
        let mariadb = MariadbCapabilities::from_bits_truncate(if is_mariadb { further } else { 0 });
        if server.contains(CapabilityFlags::CLIENT_SECURE_CONNECTION) {
            let second = fields.take(nonce_bytes.saturating_sub(8).max(13))?;
            nonce.extend_from_slice(second.strip_suffix(b"\0").unwrap_or(second));
        }
        let plugin = fields.rest().strip_suffix(b"\0").unwrap_or(fields.rest()).to_vec();
        let capabilities = wanted() & server;
        let has_tls = server.contains(CapabilityFlags::CLIENT_SSL);
        let mariadb = mariadb & MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA;
        // Without the newer end of rows, a result without definitions would be another form of it.
        let caches_columns = !mariadb.is_empty() && capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        let mariadb = if caches_columns { mariadb } else { MariadbCapabilities::empty() };
        // The version that old replicas of MySQL want to see comes before MariaDB's own.
        let version = version.strip_prefix("5.5.5-").map(str::to_owned).unwrap_or(version);
        Some(Self { version, id, capabilities, caches_columns, has_tls, mariadb, nonce, plugin })
    }
}

/// What this client can do.
fn wanted() -> CapabilityFlags {
    CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_LOCAL_FILES
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_MULTI_STATEMENTS
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
}

/// Logs in on a fresh channel.
pub(super) fn login(
    channel: &mut WireChannel,
    address: &ServerAddress,
    tls: TlsMode,
) -> Result<MySqlGreeting, WireError> {
    let mut talk = Conversation { channel, sequence: 0 };
    let mut greeting = MySqlGreeting::of(&talk.receive()?)?;
    let needed = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_PLUGIN_AUTH;
    if !greeting.capabilities.contains(needed) {
        return Err(WireError::protocol("a greeting of a server older than MySQL 5.5"));
    }
    start_tls(&mut talk, &mut greeting, address, tls)?;
    let proof = Proof {
        password: address.password().unwrap_or_default().as_bytes(),
        nonce: &greeting.nonce,
        is_encrypted: talk.channel.is_encrypted(),
        is_socket: address.is_socket(),
    };
    // A plugin that begins with another one's random bytes is switched to when the server knows the user.
    let usual = Plugin::named(&greeting.plugin).filter(|plugin| matches!(plugin, Plugin::Native | Plugin::CachingSha2));
    let (plugin, name) = usual.map_or((Plugin::Native, AuthPlugin::MysqlNativePassword), |plugin| {
        (plugin, AuthPlugin::from_bytes(&greeting.plugin))
    });
    let answer = plugin.first_answer(proof)?;
    let response = HandshakeResponse::new(
        Some(answer),
        (5, 5, 5),
        Some(address.user().as_bytes()),
        address.database().map(str::as_bytes),
        Some(name),
        greeting.capabilities,
        None,
        PACKET_BYTES_MAX,
    );
    let mut payload = Vec::new();
    response.with_mariadb_ext_capabilities(greeting.mariadb).serialize(&mut payload);
    talk.send(&payload)?;
    authenticate(&mut talk, plugin, proof)?;
    Ok(greeting)
}

/// TLS begins between the greeting and its answer, if the server has it.
fn start_tls(
    talk: &mut Conversation,
    greeting: &mut MySqlGreeting,
    address: &ServerAddress,
    mode: TlsMode,
) -> Result<(), WireError> {
    if mode == TlsMode::Disable || (mode == TlsMode::Prefer && !greeting.has_tls) {
        return Ok(());
    }
    if !greeting.has_tls {
        return Err(WireError::Tls("the server has none".to_owned()));
    }
    greeting.capabilities |= CapabilityFlags::CLIENT_SSL;
    let request = SslRequest::new(greeting.capabilities, PACKET_BYTES_MAX, CollationId::UTF8MB4_GENERAL_CI as u8);
    let mut payload = Vec::new();
    request.with_mariadb_capabilities(greeting.mariadb).serialize(&mut payload);
    talk.send(&payload)?;
    talk.channel.start_tls(address.tls_client()?)
}

/// To the end: the server may switch to another plugin, with other random bytes.
fn authenticate(talk: &mut Conversation, mut plugin: Plugin, proof: Proof) -> Result<(), WireError> {
    let mut nonce = proof.nonce.to_vec();
    loop {
        let payload = talk.receive()?;
        match payload.split_first() {
            Some((0x00, _)) => return Ok(()),
            Some((0xff, _)) => return Err(WireError::Server(server_error(&payload)?)),
            Some((0x01, data)) => {
                if let Some(answer) = plugin.next_answer(data, Proof { nonce: &nonce, ..proof })? {
                    talk.send(&answer)?;
                }
            }
            Some((0xfe, data)) => {
                (plugin, nonce) = switch(data)?;
                let answer = plugin.first_answer(Proof { nonce: &nonce, ..proof })?;
                talk.send(&answer)?;
            }
            _ => return Err(WireError::protocol("something else than a step of authentication")),
        }
    }
}

fn switch(data: &[u8]) -> Result<(Plugin, Vec<u8>), WireError> {
    let mut fields = PacketFields(data);
    let name = fields.until_zero().unwrap_or(b"mysql_old_password");
    let unknown = || {
        WireError::Authentication(format!(
            "the server asks for the plugin '{}', which is not spoken",
            name.escape_ascii()
        ))
    };
    let plugin = Plugin::named(name).ok_or_else(unknown)?;
    let nonce = fields.rest();
    Ok((plugin, nonce.strip_suffix(b"\0").filter(|_| nonce.len() == 21 || nonce.len() == 33).unwrap_or(nonce).to_vec()))
}

/// Packets to and fro, numbered.
struct Conversation<'a> {
    channel: &'a mut WireChannel,
    sequence: u8,
}

impl Conversation<'_> {
    fn receive(&mut self) -> Result<Vec<u8>, WireError> {
        loop {
            let data = self.channel.input.data();
            if let Some(header) = Header::of(data) {
                if header.sequence != self.sequence || header.payload_bytes > LOGIN_BYTES_MAX {
                    return Err(WireError::protocol("something else than a packet of MySQL's login"));
                }
                if let Some(payload) = header.payload(data) {
                    let payload = payload.to_vec();
                    self.channel.input.consume(header.bytes());
                    self.sequence = header.sequence.wrapping_add(1);
                    return Ok(payload);
                }
            }
            self.channel.fill()?;
        }
    }

    fn send(&mut self, payload: &[u8]) -> Result<(), WireError> {
        if payload.len() > LOGIN_BYTES_MAX {
            return Err(WireError::Request("a password is not that long"));
        }
        let output = &mut self.channel.output;
        output.put_u32_le(payload.len() as u32 | u32::from(self.sequence) << 24);
        output.put_slice(payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.channel.send_before_answer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(plugin: &[u8], nonce_bytes: u8) -> Vec<u8> {
        let head = b"\x0a5.5.5-10.11.9-MariaDB\0\x07\0\0\0abcdefgh\0\xfe\xff\x2d\x02\0\xff\x81";
        let tail = b"\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0";
        [&head[..], &[nonce_bytes], tail, plugin, b"\0"].concat()
    }

    #[test]
    fn a_greeting_says_who_it_is() {
        let read = MySqlGreeting::of(&greeting(b"mysql_native_password", 21)).expect("whole");
        assert_eq!((read.version.as_str(), read.id), ("10.11.9-MariaDB", 7));
        assert!(read.caches_columns);
        assert_eq!(read.nonce, b"abcdefghijklmnopqrst");
        assert_eq!(read.plugin, b"mysql_native_password");
    }

    #[test]
    fn greetings_that_lie_are_refused() {
        let whole = greeting(b"", 21);
        for length in 0..whole.len() - 14 {
            assert!(MySqlGreeting::of(&whole[..length]).is_err(), "{length}");
        }
        for nonce_bytes in 0..=255 {
            let _either_way = MySqlGreeting::of(&greeting(b"x", nonce_bytes));
        }
        assert!(MySqlGreeting::of(b"\x09").is_err() && MySqlGreeting::of(b"").is_err());
        let error = MySqlGreeting::of(b"\xff\x10\x04Too many connections").expect_err("it is an error");
        assert_eq!(error.kind(), crate::ErrorKind::TooManyConnections);
    }

    #[test]
    fn a_switch_to_something_unknown_is_named() {
        let error = switch(b"dialog\0x").expect_err("unknown").to_string();
        assert_eq!(error, "authentication: the server asks for the plugin 'dialog', which is not spoken");
        assert!(switch(b"").is_err(), "the old password");
        let (plugin, nonce) = switch(b"client_ed25519\0abcdefghijklmnopqrstuvwxyz012345\0").expect("known");
        assert_eq!((plugin, nonce.len()), (Plugin::Ed25519, 32));
    }
}
