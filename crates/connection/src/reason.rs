//! Why TLS failed, in a sentence.

use std::io;

use rustls::{
    AlertDescription as Alert, CertificateError as Certificate, Error,
    PeerIncompatible as Incompatible,
};

/// An error of TLS, in a sentence.
#[derive(Debug, thiserror::Error)]
#[error("TLS: {0}")]
struct TlsError(String);

pub(crate) fn tls_error(error: &Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, TlsError(sentence(error)))
}

/// Says in a sentence why TLS failed; `None` if an error of a connection is another one.
#[must_use]
pub fn reason(error: &io::Error) -> Option<String> {
    error.get_ref()?.downcast_ref::<TlsError>().map(|error| error.0.clone())
}

fn sentence(error: &Error) -> String {
    let text = match error {
        Error::AlertReceived(Alert::UnknownCA) => {
            "the other side does not know the authority (CA) that has signed our certificate"
        }
        Error::AlertReceived(Alert::CertificateRequired) => {
            "the other side asks for a certificate, and we have none"
        }
        Error::AlertReceived(Alert::CertificateExpired) => "our certificate has expired",
        Error::AlertReceived(
            Alert::BadCertificate
            | Alert::CertificateUnknown
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::DecryptError
            | Alert::AccessDenied,
        ) => "the other side refuses our certificate",
        Error::PeerIncompatible(
            Incompatible::NoCipherSuitesInCommon
            | Incompatible::NoKxGroupsInCommon
            | Incompatible::NoSignatureSchemesInCommon,
        ) => "the other side has no cipher or kind of key in common with us",
        Error::PeerIncompatible(Incompatible::Tls12NotOffered) => {
            "the other side speaks neither TLS 1.3 nor TLS 1.2"
        }
        Error::AlertReceived(Alert::ProtocolVersion) | Error::PeerIncompatible(_) => {
            "the other side does not speak TLS 1.3"
        }
        Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "the certificate of the other side has expired"
        }
        Error::InvalidCertificate(
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. },
        ) => "the certificate of the other side is not valid yet: are both clocks right?",
        Error::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            "the certificate of the other side is not signed by an authority (CA) that we trust"
        }
        Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => "the certificate of the other side is for another host",
        Error::NoCertificatesPresented => "the other side has no certificate",
        Error::InvalidMessage(_) => "the other side does not speak TLS",
        other => return other.to_string(),
    };
    text.to_owned()
}
