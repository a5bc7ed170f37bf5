//! The errors of keys, certificates and signatures.

use std::fmt;

/// The keys that sign.
const EXPECTED: &str = "expected an RSA key, or a key over the curve P-256 or P-384";

/// The error of a file without the wanted PEM block.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PemError {
    /// The file has no block.
    #[error("no PEM file")]
    NoBlock,
    /// The file has only blocks with other labels.
    #[error("PEM file with other blocks: `{}`", .0.join("`, `"))]
    OtherBlocks(Vec<String>),
    /// A block has no label.
    #[error("PEM block without a label")]
    NoLabel,
    /// A block has no end.
    #[error("PEM block without an end")]
    NoEnd,
    /// The contents of the block cannot be decoded.
    #[error("damaged PEM block `{label}`: {problem}")]
    Damaged {
        /// The label of the block.
        label: String,
        /// The problem.
        problem: String,
    },
}

/// The error of a private key.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file has no private key.
    #[error("{0}, expected a private key")]
    Pem(PemError),
    /// The key has a passphrase.
    #[error("the private key is encrypted, expected a key without a passphrase")]
    Encrypted,
    /// The key is damaged, or cannot sign.
    #[error("unusable private key: {0}")]
    Unusable(String),
    /// The key is damaged, or over another curve.
    #[error("unusable elliptic-curve key, {EXPECTED}")]
    UnusableCurveKey,
    /// The label of the block.
    #[error("unknown kind of private key: `{0}`, {EXPECTED}")]
    UnknownKind(String),
    /// The identifier of the curve.
    #[error("unsupported elliptic curve: {0}, {EXPECTED}")]
    UnsupportedCurve(String),
    /// The identifier of the algorithm.
    #[error("unsupported kind of private key: {0}, {EXPECTED}")]
    UnsupportedKind(String),
}

/// The error of a certificate.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The PEM file has no certificate.
    #[error("{0}, expected a certificate")]
    Pem(PemError),
    /// The bytes are no certificate.
    #[error("no X.509 certificate in PEM or DER: {0}")]
    Invalid(String),
}

/// The error of a signature.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The key cannot sign.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The message cannot be encoded.
    #[error("{0}")]
    Encoding(String),
}

/// Prints the message, as `fn main() -> Result<(), Box<dyn Error>>` does. Messages contain their causes.
macro_rules! debug_as_message {
    ($($error:ty),+) => {$(
        impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )+};
}

debug_as_message!(PemError, KeyError, CertificateError, SignError);
