//! Private keys: RSA, and ECDSA over P-256 and P-384, which the kernel verifies.
//!
//! The crates are those of RustCrypto. They are pure Rust, so that the static builds need no C compiler.

use super::{DigestAlgorithm, pem};
use crate::{error::BadInput, input::limits::MAX_KEY_BYTES};
use core_relo_kernels::file;
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use pkcs8::{DecodePrivateKey as _, ObjectIdentifier, PrivateKeyInfoRef};
use rsa::{
    Pkcs1v15Sign,
    pkcs1::{DecodeRsaPrivateKey as _, EncodeRsaPublicKey as _},
    sha2::{Sha256, Sha384, Sha512},
    traits::PublicKeyParts as _,
};
use std::{fmt, path::Path};

/// `rsaEncryption`.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// `id-ecPublicKey`, and the curves P-256 and P-384.
const ELLIPTIC_CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");

const EXPECTED: &str = "expected an RSA key, or a key over the curve P-256 or P-384";

/// A private key.
pub(crate) enum PrivateKey {
    Rsa(rsa::PrivateKey),
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
}

/// The kind and size of the key, such as `RSA, 2048 bits`.
impl fmt::Display for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa(key) => write!(f, "RSA, {} bits", key.n().bit_width()),
            Self::P256(_) => f.write_str("ECDSA, P-256"),
            Self::P384(_) => f.write_str("ECDSA, P-384"),
        }
    }
}

impl PrivateKey {
    /// Reads a key from a PEM file.
    pub(crate) fn read(path: &Path) -> Result<Self, BadInput> {
        let bytes = file::read(path, MAX_KEY_BYTES)?;
        let (label, der) = pem::find_block(&bytes, |label| label.ends_with("PRIVATE KEY"))
            .map_err(|what| BadInput::for_path(path, format!("{what}, expected a private key")))?;
        if label.contains("ENCRYPTED") {
            let what = "the private key is encrypted, expected a key without a passphrase";
            let help =
                "decrypt it to a file that only you can read: `openssl pkey -in KEY.pem -out PLAIN.pem`";
            return Err(BadInput::for_path(path, what).help(help));
        }
        Self::from_der(&label, &der).map_err(|what| BadInput::for_path(path, what))
    }

    /// Parses the contents of a PEM block.
    pub(super) fn from_der(label: &str, der: &[u8]) -> Result<Self, String> {
        match label {
            "PRIVATE KEY" => Self::from_pkcs8(der),
            "RSA PRIVATE KEY" => rsa::PrivateKey::from_pkcs1_der(der).map(Self::Rsa).map_err(unusable),
            "EC PRIVATE KEY" => {
                let p256 = p256::SecretKey::from_sec1_der(der).map(|key| Self::P256(key.into()));
                p256.or_else(|_other_curve| {
                    p384::SecretKey::from_sec1_der(der).map(|key| Self::P384(key.into()))
                })
                .map_err(|_other_curve| format!("unusable elliptic-curve key, {EXPECTED}"))
            }
            _ => Err(format!("unknown kind of private key: `{label}`, {EXPECTED}")),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, String> {
        let info = PrivateKeyInfoRef::try_from(der).map_err(unusable)?;
        match (info.algorithm.oid, info.algorithm.parameters_oid()) {
            (RSA, _) => rsa::PrivateKey::from_pkcs8_der(der).map(Self::Rsa).map_err(unusable),
            (ELLIPTIC_CURVE, Ok(P256)) => {
                p256::SecretKey::from_pkcs8_der(der).map(|key| Self::P256(key.into())).map_err(unusable)
            }
            (ELLIPTIC_CURVE, Ok(P384)) => {
                p384::SecretKey::from_pkcs8_der(der).map(|key| Self::P384(key.into())).map_err(unusable)
            }
            (ELLIPTIC_CURVE, Ok(curve)) => Err(format!("unsupported elliptic curve: {curve}, {EXPECTED}")),
            (algorithm, _) => Err(format!("unsupported kind of private key: {algorithm}, {EXPECTED}")),
        }
    }

    /// Returns the public key, as the bit string of a certificate has it.
    pub(super) fn public_key(&self) -> Result<Vec<u8>, String> {
        Ok(match self {
            Self::Rsa(key) => key.to_public_key().to_pkcs1_der().map_err(unusable)?.as_bytes().to_vec(),
            Self::P256(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Self::P384(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
        })
    }

    /// Signs the hash of data: RSA with the padding of PKCS#1 1.5, or ECDSA with a nonce derived from key and
    /// hash (RFC 6979).
    pub(super) fn sign_hash(&self, digest: DigestAlgorithm, hash: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::Rsa(key) => {
                let padding = match digest {
                    DigestAlgorithm::Sha256 => Pkcs1v15Sign::new::<Sha256>(),
                    DigestAlgorithm::Sha384 => Pkcs1v15Sign::new::<Sha384>(),
                    DigestAlgorithm::Sha512 => Pkcs1v15Sign::new::<Sha512>(),
                };
                key.sign(padding, hash).map_err(unusable)
            }
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign_prehash(hash).map_err(unusable)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Self::P384(key) => {
                let signature: p384::ecdsa::Signature = key.sign_prehash(hash).map_err(unusable)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
        }
    }
}

/// Returns the problem of a key that cannot be used.
fn unusable(error: impl fmt::Display) -> String {
    format!("unusable private key: {error}")
}
