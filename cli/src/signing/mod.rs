//! Signatures of programs: keys and certificates from files, and the PKCS#7 message that the kernel verifies.
//!
//! | file | contents |
//! |---|---|
//! | `pem` | PEM blocks of a file |
//! | `key` | private keys: RSA, and ECDSA over P-256 and P-384 |
//! | `certificate` | the parts of an X.509 certificate by which the kernel finds the key |
//! | `signed_data` | the PKCS#7 message |

mod certificate;
mod key;
mod pem;
mod signed_data;

pub(crate) use certificate::Certificate;
pub(crate) use key::PrivateKey;
pub(crate) use signed_data::sign;

use clap::ValueEnum;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// The hash algorithm of a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DigestAlgorithm {
    #[default]
    Sha256,
    Sha384,
    Sha512,
}

impl DigestAlgorithm {
    /// Returns the name on the command line and in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    fn hash(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(data).to_vec(),
            Self::Sha384 => Sha384::digest(data).to_vec(),
            Self::Sha512 => Sha512::digest(data).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests;
