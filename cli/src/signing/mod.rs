//! Signatures of programs: keys and certificates from files, and the PKCS#7 message that the kernel verifies.
//!
//! | file | contents |
//! |---|---|
//! | `digest` | the names of the hash algorithms |
//! | `pem` | PEM blocks of a file |
//! | `key` | private keys: RSA, and ECDSA over P-256 and P-384 |
//! | `certificate` | the parts of an X.509 certificate by which the kernel finds the key |
//! | `signed_data` | the PKCS#7 message |
//!
//! All but the names need the feature `sign`.

#[cfg(feature = "sign")]
mod certificate;
mod digest;
#[cfg(feature = "sign")]
mod key;
#[cfg(feature = "sign")]
mod pem;
#[cfg(feature = "sign")]
mod signed_data;

#[cfg(feature = "sign")]
pub(crate) use certificate::Certificate;
pub(crate) use digest::DigestAlgorithm;
#[cfg(feature = "sign")]
pub(crate) use key::PrivateKey;
#[cfg(feature = "sign")]
pub(crate) use signed_data::sign;

#[cfg(all(test, feature = "sign"))]
mod tests;
