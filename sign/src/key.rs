//! Private keys: RSA, and ECDSA over P-256 and P-384, which the kernel verifies.
//!
//! The crates are those of RustCrypto. They are pure Rust, so that the static builds need no C compiler.

use crate::{DigestAlgorithm, error::KeyError, pem};
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use pkcs8::{DecodePrivateKey as _, ObjectIdentifier, PrivateKeyInfoRef};
use rsa::{
    Pkcs1v15Sign,
    pkcs1::{DecodeRsaPrivateKey as _, EncodeRsaPublicKey as _},
    sha2::{Sha256, Sha384, Sha512},
    traits::PublicKeyParts as _,
};
use std::fmt;

/// `rsaEncryption`.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// `id-ecPublicKey`, and the curves P-256 and P-384.
const ELLIPTIC_CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");

/// A private key. `Display` and `Debug` show only its kind and size.
pub struct PrivateKey(pub(super) Key);

/// The kinds of private keys.
pub(super) enum Key {
    Rsa(rsa::PrivateKey),
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
}

/// The kind and size of the key, such as `RSA, 2048 bits`.
impl fmt::Display for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Key::Rsa(key) => write!(f, "RSA, {} bits", key.n().bit_width()),
            Key::P256(_) => f.write_str("ECDSA, P-256"),
            Key::P384(_) => f.write_str("ECDSA, P-384"),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({self})")
    }
}

impl PrivateKey {
    /// Parses the contents of a PEM file: PKCS#8, PKCS#1 or SEC1.
    pub fn from_pem(bytes: &[u8]) -> Result<Self, KeyError> {
        let is_key = |label: &str| label.ends_with("PRIVATE KEY");
        let (label, der) = pem::find_block(bytes, is_key).map_err(KeyError::Pem)?;
        if label.contains("ENCRYPTED") {
            return Err(KeyError::Encrypted);
        }
        Self::from_der(&label, &der)
    }

    /// Parses the contents of a PEM block.
    pub(super) fn from_der(label: &str, der: &[u8]) -> Result<Self, KeyError> {
        Key::from_der(label, der).map(Self)
    }
}

impl Key {
    fn from_der(label: &str, der: &[u8]) -> Result<Self, KeyError> {
        match label {
            "PRIVATE KEY" => Self::from_pkcs8(der),
            "RSA PRIVATE KEY" => rsa::PrivateKey::from_pkcs1_der(der).map(Self::Rsa).map_err(unusable),
            "EC PRIVATE KEY" => {
                let p256 = p256::SecretKey::from_sec1_der(der).map(|key| Self::P256(key.into()));
                p256.or_else(|_other_curve| {
                    p384::SecretKey::from_sec1_der(der).map(|key| Self::P384(key.into()))
                })
                .map_err(|_other_curve| KeyError::UnusableCurveKey)
            }
            _ => Err(KeyError::UnknownKind(label.to_owned())),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let info = PrivateKeyInfoRef::try_from(der).map_err(unusable)?;
        match (info.algorithm.oid, info.algorithm.parameters_oid()) {
            (RSA, _) => rsa::PrivateKey::from_pkcs8_der(der).map(Self::Rsa).map_err(unusable),
            (ELLIPTIC_CURVE, Ok(P256)) => {
                p256::SecretKey::from_pkcs8_der(der).map(|key| Self::P256(key.into())).map_err(unusable)
            }
            (ELLIPTIC_CURVE, Ok(P384)) => {
                p384::SecretKey::from_pkcs8_der(der).map(|key| Self::P384(key.into())).map_err(unusable)
            }
            (ELLIPTIC_CURVE, Ok(curve)) => Err(KeyError::UnsupportedCurve(curve.to_string())),
            (algorithm, _) => Err(KeyError::UnsupportedKind(algorithm.to_string())),
        }
    }
}

impl PrivateKey {
    /// Returns the public key, as the bit string of a certificate has it.
    pub(super) fn public_key(&self) -> Result<Vec<u8>, KeyError> {
        Ok(match &self.0 {
            Key::Rsa(key) => key.to_public_key().to_pkcs1_der().map_err(unusable)?.as_bytes().to_vec(),
            Key::P256(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Key::P384(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
        })
    }

    /// Signs the hash of data: RSA with the padding of PKCS#1 1.5, or ECDSA with a nonce derived from key and
    /// hash (RFC 6979).
    pub(super) fn sign_hash(&self, digest: DigestAlgorithm, hash: &[u8]) -> Result<Vec<u8>, KeyError> {
        match &self.0 {
            Key::Rsa(key) => {
                let padding = match digest {
                    DigestAlgorithm::Sha256 => Pkcs1v15Sign::new::<Sha256>(),
                    DigestAlgorithm::Sha384 => Pkcs1v15Sign::new::<Sha384>(),
                    DigestAlgorithm::Sha512 => Pkcs1v15Sign::new::<Sha512>(),
                };
                key.sign(padding, hash).map_err(unusable)
            }
            Key::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign_prehash(hash).map_err(unusable)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Key::P384(key) => {
                let signature: p384::ecdsa::Signature = key.sign_prehash(hash).map_err(unusable)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
        }
    }
}

/// Returns the error of a key that cannot be used.
fn unusable(error: impl fmt::Display) -> KeyError {
    KeyError::Unusable(error.to_string())
}
