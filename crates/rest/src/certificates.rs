//! Certificates that are trusted in addition to the system's.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use crate::{Kind, NextStep, RestError, Result};

/// The settings of TLS that trust the certificates in this file (PEM), too.
pub(crate) fn trusting(file: &Path) -> Result<ClientConfig> {
    let unusable = |why: String| {
        RestError::new(
            Kind::Tls,
            format!("The certificates in {} cannot be used: {why}.", file.display()),
            NextStep::GiveCertificate { given: Some(file.to_owned()) },
        )
    };
    let text = std::fs::read(file).map_err(|error| unusable(error.to_string()))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|_| unusable("it is not PEM".to_owned()))?;
    if certificates.is_empty() {
        return Err(unusable("it contains none".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let config = config.map_err(|error| unusable(error.to_string()))?;
    let verifier =
        PinningVerifier::new(certificates, provider).map_err(|error| unusable(error.to_string()))?;
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// Accepts what an authority has signed, and a server's own certificate that the person has given: `openssl req -x509` makes it an
/// authority's, which no server may have otherwise.
#[derive(Debug)]
struct PinningVerifier {
    authorities: Verifier,
    pinned: Vec<CertificateDer<'static>>,
}

impl PinningVerifier {
    fn new(pinned: Vec<CertificateDer<'static>>, provider: Arc<CryptoProvider>) -> Result<Self, Error> {
        Ok(Self { authorities: Verifier::new_with_extra_roots(pinned.clone(), provider)?, pinned })
    }
}

/// Whether a server has the certificate of an authority. It is valid today, because that is checked first.
pub(crate) fn is_of_authority(problem: &CertificateError) -> bool {
    matches!(problem, CertificateError::Other(error) if error.to_string() == "CaUsedAsEndEntity")
}

impl ServerCertVerifier for PinningVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(Error::InvalidCertificate(problem))
                if is_of_authority(&problem) && self.pinned.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=h.test -addext subjectAltName=DNS:h.test`,
    /// valid from November 2026 for 100 years.
    const SELF_SIGNED: &str = include_str!("certificates/self_signed.pem");

    fn verify(pinned: &str, name: &str, seconds: u64) -> Result<(), Error> {
        let read = |text: &str| CertificateDer::from_pem_slice(text.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = PinningVerifier::new(vec![read(pinned)], provider).unwrap();
        let (name, now) =
            (ServerName::try_from(name).unwrap(), UnixTime::since_unix_epoch(Duration::from_secs(seconds)));
        verifier.verify_server_cert(&read(SELF_SIGNED), &[], &name, &[], now).map(drop)
    }

    #[test]
    fn the_self_signed_certificate_that_was_given_is_accepted_for_its_name_while_it_is_valid() {
        const DURING: u64 = 2_000_000_000;
        assert_eq!(verify(SELF_SIGNED, "h.test", DURING), Ok(()));
        for (name, now) in [("other.test", DURING), ("h.test", 1_000_000_000), ("h.test", 9_000_000_000)] {
            assert!(verify(SELF_SIGNED, name, now).is_err(), "{name} {now}");
        }
        let other = include_str!("certificates/other.pem");
        assert!(verify(other, "h.test", DURING).is_err());
    }
}
