//! TLS as libpq and MySQL's clients mean it: which servers are believed, by mode, and what binds a login to the connection.
//! rustls with ring, named explicitly. LIMIT: TLS 1.2 and 1.3, and names of hosts in a certificate's alternative names only.

use crate::address::{TlsMode, TlsSettings};
use crate::der;
use crate::error::WireError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Where systems have the authorities that they trust.
const SYSTEM_ROOTS: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What connections to one address share: read once, and sessions that may be resumed.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedTls(Arc<OnceLock<Arc<ClientConfig>>>);

impl SharedTls {
    /// A side of TLS for one connection to `host`.
    pub fn client(&self, settings: &TlsSettings, host: &str) -> Result<ClientConnection, WireError> {
        let config = match self.0.get() {
            Some(config) => Arc::clone(config),
            None => {
                let made = Arc::new(config(settings)?);
                Arc::clone(self.0.get_or_init(|| made))
            }
        };
        let no_name = |error| WireError::Tls(format!("'{host}': {error}"));
        let name = ServerName::try_from(host.to_owned()).map_err(no_name)?;
        ClientConnection::new(config, name).map_err(|error| WireError::Tls(error.to_string()))
    }
}

fn config(settings: &TlsSettings) -> Result<ClientConfig, WireError> {
    let failed = |error: rustls::Error| WireError::Tls(error.to_string());
    let provider = Arc::new(ring::default_provider());
    let verifier = ServerVerifier::new(settings, Arc::clone(&provider))?;
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let verified = versions.map_err(failed)?.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    match (&settings.certificate, &settings.key) {
        (Some(certificate), Some(key)) => {
            verified.with_client_auth_cert(certificates(certificate)?, private_key(key)?).map_err(failed)
        }
        (Some(_), None) => Err(WireError::Tls("there is a certificate of the client, but no key".to_owned())),
        (None, _) => Ok(verified.with_no_client_auth()),
    }
}

fn unreadable(path: &Path, cause: &dyn std::fmt::Display) -> WireError {
    WireError::Tls(format!("could not read '{}': {cause}", path.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, WireError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let read = read.map_err(|error| unreadable(path, &error))?;
    if read.is_empty() {
        return Err(unreadable(path, &"there is no certificate in it"));
    }
    Ok(read)
}

/// COMPAT: as libpq, a key that others may read is none; root's may be read by its group.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, WireError> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    let forbidden = if metadata.uid() == 0 { 0o027 } else { 0o077 };
    if metadata.mode() & forbidden != 0 {
        return Err(unreadable(path, &"others may read the key; its mode should be 0600 or less"));
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| unreadable(path, &error))
}

/// Believes a server as far as the mode asks for.
#[derive(Debug)]
struct ServerVerifier {
    mode: TlsMode,
    roots: RootCertStore,
    /// The same as they are: a server may have the very certificate that is trusted.
    trusted: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerVerifier {
    fn new(settings: &TlsSettings, provider: Arc<CryptoProvider>) -> Result<Self, WireError> {
        let (mode, mut roots) = (settings.mode, RootCertStore::empty());
        if mode < TlsMode::VerifyCa {
            return Ok(Self { mode, roots, trusted: Vec::new(), provider });
        }
        let file = settings.root.clone().or_else(system_roots);
        let file = file.ok_or_else(|| WireError::Tls("there are no authorities of the system".to_owned()))?;
        let trusted = certificates(&file)?;
        let (added, _unfit) = roots.add_parsable_certificates(trusted.iter().cloned());
        if added == 0 {
            return Err(unreadable(&file, &"there is no certificate of an authority in it"));
        }
        Ok(Self { mode, roots, trusted: if settings.root.is_some() { trusted } else { Vec::new() }, provider })
    }
}

fn system_roots() -> Option<PathBuf> {
    SYSTEM_ROOTS.iter().map(PathBuf::from).find(|path| path.exists())
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.mode < TlsMode::VerifyCa {
            return Ok(ServerCertVerified::assertion());
        }
        let certificate = ParsedCertificate::try_from(end_entity)?;
        if !self.trusted.contains(end_entity) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, &self.roots, intermediates, now, algorithms)?;
        }
        if self.mode == TlsMode::VerifyFull {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The end of the object identifiers of signatures by their hashes: RSA and ECDSA with each.
const RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01";
const ECDSA: &[u8] = b"\x2a\x86\x48\xce\x3d\x04\x03";

/// What binds a login to this server's certificate (RFC 5929, tls-server-end-point): its hash, by the hash of its signature, and
/// SHA-256 in place of weaker ones. None for signatures that do not say theirs so simply.
pub(crate) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let mut outer = der::take(&mut &*certificate, der::SEQUENCE)?;
    der::take(&mut outer, der::SEQUENCE)?;
    let mut algorithm = der::take(&mut outer, der::SEQUENCE)?;
    let object = der::take(&mut algorithm, der::OBJECT)?;
    let (rsa, ecdsa) = (object.strip_prefix(RSA), object.strip_prefix(ECDSA));
    match (rsa, ecdsa) {
        (Some([4 | 5 | 11]), _) | (_, Some([2])) => Some(Sha256::digest(certificate).to_vec()),
        (Some([12]), _) | (_, Some([3])) => Some(Sha384::digest(certificate).to_vec()),
        (Some([13]), _) | (_, Some([4])) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certificates_have_an_end_point() {
        let with = |object: &[u8]| {
            let algorithm = [&[0x30, object.len() as u8 + 2, 0x06, object.len() as u8], object].concat();
            let body = [b"\x30\x00", &algorithm[..]].concat();
            [&[0x30, body.len() as u8], &body[..]].concat()
        };
        let hash_bytes = |object: &[u8]| end_point(&with(object)).map(|hash| hash.len());
        assert_eq!(hash_bytes(&[RSA, &[11]].concat()), Some(32));
        assert_eq!(hash_bytes(&[RSA, &[5]].concat()), Some(32), "SHA-1 is replaced");
        assert_eq!(hash_bytes(&[ECDSA, &[3]].concat()), Some(48));
        assert_eq!(hash_bytes(&[RSA, &[13]].concat()), Some(64));
        assert_eq!((hash_bytes(&[RSA, &[10]].concat()), hash_bytes(b"\x2b\x65\x70")), (None, None));
        assert_eq!((end_point(b""), end_point(b"\x30\x02\x30\x00")), (None, None));
    }
}
