//! The reasons why the kernel refuses the signature of a program.

use crate::{
    features::load_unsigned,
    sys::{Errno, Keyring, ProgSignature},
};
use thiserror::Error;

/// A reason why the kernel refuses a signed program before the verifier reads the program.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SignatureRefusal {
    /// The keyring lacks the certificate that the signature names by issuer and serial number (`ENOKEY`).
    #[error(
        "no key fits the signature: keyring `{keyring}` lacks the certificate that the program was signed with"
    )]
    NoKey {
        /// The keyring.
        keyring: Keyring,
    },
    /// The instructions changed after they were signed, another key with the same issuer and serial number
    /// signed them, or the kernel's list of revoked certificates has the certificate (`EKEYREJECTED`).
    #[error("the signature does not fit the instructions")]
    Mismatch,
    /// The certificate has expired (`EKEYEXPIRED`).
    #[error("the key of the signature has expired")]
    Expired,
    /// The key is revoked (`EKEYREVOKED`).
    #[error("the key of the signature is revoked")]
    Revoked,
    /// The signature is no PKCS#7 message (`EBADMSG`).
    #[error("the signature is malformed, expected a detached PKCS#7 message in DER")]
    Malformed,
    /// The kernel lacks the hash algorithm or the kind of key (`ENOPKG`).
    #[error("this kernel lacks an algorithm of the signature")]
    Algorithm,
    /// The signature is larger than the kernel reads (`EINVAL`).
    #[error("the signature is too large for this kernel: {found} bytes, expected at most {LARGEST}")]
    TooLarge {
        /// The size in bytes.
        found: usize,
    },
    /// The keyring does not exist, or the process may not search it (`EINVAL`).
    #[error("keyring `{keyring}` does not exist, or this process may not search it")]
    NoKeyring {
        /// The keyring.
        keyring: Keyring,
    },
    /// The kernel has no signatures of programs (`E2BIG`).
    #[error("this kernel checks no signatures of programs, which came with Linux 6.18")]
    OldKernel,
    /// The kernel cannot verify signatures (`EOPNOTSUPP`).
    #[error(
        "this kernel checks no signatures of programs: it was built without CONFIG_SYSTEM_DATA_VERIFICATION"
    )]
    NotBuilt,
}

core_relo::debug_as_message!(SignatureRefusal);

/// Bytes of the largest signature that each kernel reads, of those with pages of 4 KiB (kernel:
/// `KMALLOC_MAX_CACHE_SIZE`).
const LARGEST: usize = 8192;

impl SignatureRefusal {
    /// Returns the reason why the running kernel refused to load a program with a signature. Returns `None`
    /// if the error has nothing to do with the signature. An error with a verifier's log never has.
    ///
    /// Some errors of bpf(2) have several reasons. To decide among them, the function tries to load an empty
    /// program.
    pub fn explain(errno: Errno, signature: &ProgSignature<'_>) -> Option<Self> {
        let keyring = signature.keyring;
        Some(match errno.0 {
            libc::ENOKEY => Self::NoKey { keyring },
            libc::EKEYREJECTED => Self::Mismatch,
            libc::EKEYEXPIRED => Self::Expired,
            libc::EKEYREVOKED => Self::Revoked,
            libc::EBADMSG => Self::Malformed,
            libc::ENOPKG => Self::Algorithm,
            libc::E2BIG | libc::EINVAL | libc::EOPNOTSUPP => {
                match load_unsigned(keyring, None).err()? {
                    Errno(libc::E2BIG) => Self::OldKernel,
                    Errno(libc::EOPNOTSUPP) => Self::NotBuilt,
                    Errno(libc::EINVAL) => match load_unsigned(Keyring::Builtin, None).err()? {
                        // Without CONFIG_KEYS, no keyring exists.
                        Errno(libc::EINVAL | libc::EOPNOTSUPP) => Self::NotBuilt,
                        _ => Self::NoKeyring { keyring },
                    },
                    _ if signature.pkcs7.len() > LARGEST => Self::TooLarge { found: signature.pkcs7.len() },
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}
