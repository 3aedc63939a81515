//! Certificates for tests of encrypted connections, made by the test that needs them.
//!
//! X.509 (RFC 5280) with keys on the curve P-256, as little of it as a verifier asks for: written
//! here because the crates for it bring thirty others.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};

/// An authority that signs certificates; all files are PEM and lie in one folder.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    name: String,
    key: EcdsaKeyPair,
    /// The certificate of the authority itself.
    pub file: PathBuf,
}

/// The files of a certificate.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

impl Authority {
    /// An authority with the file `NAME.pem` in a folder.
    ///
    /// # Panics
    /// If the file cannot be written.
    #[must_use]
    pub fn new(folder: &Path, name: &str) -> Self {
        let (key, _) = new_key();
        let file = folder.join(format!("{name}.pem"));
        let constraints = sequence(&[tagged(0x01, &[0xff])]);
        let extension = extension(&[0x55, 0x1d, 0x13], &constraints);
        let certificate = certificate(name, name, &key, &key, &[extension], VALID);
        std::fs::write(&file, pem("CERTIFICATE", &certificate)).expect("file");
        Self { folder: folder.to_owned(), name: name.to_owned(), key, file }
    }

    /// Signs a certificate for some hosts, by name or number, or for a client, which needs none:
    /// `NAME.pem` and `NAME.key`.
    ///
    /// # Panics
    /// If the files cannot be written.
    #[must_use]
    pub fn sign(&self, name: &str, hosts: &[&str], is_expired: bool) -> CertificateFiles {
        let (key, private) = new_key();
        let names: Vec<Vec<u8>> = hosts
            .iter()
            .map(|host| match host.parse::<IpAddr>() {
                Ok(IpAddr::V4(address)) => tagged(0x87, &address.octets()),
                Ok(IpAddr::V6(address)) => tagged(0x87, &address.octets()),
                Err(_) => tagged(0x82, host.as_bytes()),
            })
            .collect();
        let extensions = match names.is_empty() {
            true => Vec::new(),
            false => vec![extension(&[0x55, 0x1d, 0x11], &sequence(&names))],
        };
        let validity = if is_expired { EXPIRED } else { VALID };
        let bytes = certificate(&self.name, name, &key, &self.key, &extensions, validity);
        let files = CertificateFiles {
            certificate: self.folder.join(format!("{name}.pem")),
            key: self.folder.join(format!("{name}.key")),
        };
        std::fs::write(&files.certificate, pem("CERTIFICATE", &bytes)).expect("file");
        std::fs::write(&files.key, pem("PRIVATE KEY", &private)).expect("file");
        files
    }
}

/// First and last second, as `YYMMDDhhmmssZ`.
type Validity = [&'static [u8]; 2];
const VALID: Validity = [b"200101000000Z", b"491231235959Z"];
const EXPIRED: Validity = [b"200101000000Z", b"210101000000Z"];

/// `ecdsa-with-SHA256`, `id-ecPublicKey`, `prime256v1` and `id-at-commonName`.
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const EC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// A key and its PKCS #8.
fn new_key() -> (EcdsaKeyPair, Vec<u8>) {
    let random = SystemRandom::new();
    let private = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random);
    let private = private.expect("key").as_ref().to_vec();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &private, &random);
    (key.expect("key"), private)
}

fn certificate(
    issuer: &str,
    subject: &str,
    key: &EcdsaKeyPair,
    issuer_key: &EcdsaKeyPair,
    extensions: &[Vec<u8>],
    validity: Validity,
) -> Vec<u8> {
    let algorithm = sequence(&[object(ECDSA_SHA256)]);
    let name = |name: &str| {
        let pair = sequence(&[object(COMMON_NAME), tagged(0x0c, name.as_bytes())]);
        sequence(&[tagged(0x31, &pair)])
    };
    // The first octets of a key serve as its number; 1 in front, so that it is positive.
    let serial = [&[1], &key.public_key().as_ref()[1..9]].concat();
    let mut parts = vec![
        tagged(0xa0, &tagged(0x02, &[2])),
        tagged(0x02, &serial),
        algorithm.clone(),
        name(issuer),
        sequence(&validity.map(|time| tagged(0x17, time))),
        name(subject),
        sequence(&[sequence(&[object(EC_KEY), object(P256)]), bits(key.public_key().as_ref())]),
    ];
    if !extensions.is_empty() {
        parts.push(tagged(0xa3, &sequence(extensions)));
    }
    let signed = sequence(&parts);
    let signature = issuer_key.sign(&SystemRandom::new(), &signed).expect("signature");
    sequence(&[signed, algorithm, bits(signature.as_ref())])
}

/// A critical extension.
fn extension(id: &[u8], value: &[u8]) -> Vec<u8> {
    sequence(&[object(id), tagged(0x01, &[0xff]), tagged(0x04, value)])
}

fn object(id: &[u8]) -> Vec<u8> {
    tagged(0x06, id)
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    tagged(0x03, &[&[0], bytes].concat())
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(0x30, &parts.concat())
}

/// Tag, length and content (DER).
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("short").to_be_bytes();
    let mut bytes = vec![tag];
    match content.len() {
        ..128 => bytes.push(length[1]),
        128..256 => bytes.extend([0x81, length[1]]),
        _ => bytes.extend([0x82, length[0], length[1]]),
    }
    bytes.extend_from_slice(content);
    bytes
}

fn pem(label: &str, bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for (index, three) in bytes.chunks(3).enumerate() {
        if index % 16 == 0 {
            text.push('\n');
        }
        let number = three.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            text.push(match place <= three.len() {
                true => char::from(DIGITS[(number >> (18 - 6 * place) & 63) as usize]),
                false => '=',
            });
        }
    }
    format!("-----BEGIN {label}-----{text}\n-----END {label}-----\n")
}
