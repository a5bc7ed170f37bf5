//! The hash algorithms of signatures.

use clap::ValueEnum;

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
    #[cfg(feature = "sign")]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }
}
