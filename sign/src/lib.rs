//! Signatures of BPF programs: keys, certificates, and the PKCS#7 message that the kernel verifies.
//!
//! ```no_run
//! use core_relo_sign::{Certificate, DigestAlgorithm, PrivateKey, sign};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = PrivateKey::from_pem(&std::fs::read("key.pem")?)?;
//! let certificate = Certificate::parse(&std::fs::read("cert.pem")?)?;
//! assert!(certificate.fits(&key)?, "the certificate of another key");
//! let instructions = std::fs::read("instructions.bin")?;
//! let signature = sign(&instructions, &key, &certificate, DigestAlgorithm::Sha256)?;
//! # Ok(())
//! # }
//! ```
//!
//! The crate reads no file and makes no system call. It computes in constant time as far as RustCrypto does.

mod certificate;
mod digest;
mod error;
mod key;
mod pem;
mod signed_data;
#[cfg(test)]
mod tests;

pub use certificate::Certificate;
pub use digest::DigestAlgorithm;
pub use error::{CertificateError, KeyError, PemError, SignError};
pub use key::PrivateKey;
pub use signed_data::sign;
