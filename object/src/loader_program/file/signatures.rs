//! The signatures of a loader file.

use super::{LoaderFile, LoaderFileError};
use crate::limits::SIGNATURE_BYTES;

/// The signatures of a loader file: detached PKCS#7 (CMS) messages in DER. The kernel decides which one it
/// verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct LoaderSignatures {
    /// Over the [instructions](LoaderFile::instructions), for Linux 6.18 to 7.2.
    pub instructions: Vec<u8>,
    /// Over the [instructions and the data](LoaderFile::instructions_and_data), for Linux 7.3 and later.
    pub instructions_and_data: Vec<u8>,
}

impl LoaderSignatures {
    pub(super) fn check(&self) -> Result<(), LoaderFileError> {
        let mut sizes = [&self.instructions, &self.instructions_and_data].into_iter().map(Vec::len);
        match sizes.find(|size| *size == 0 || *size > SIGNATURE_BYTES) {
            Some(found) => Err(LoaderFileError::SignatureSize { found }),
            None => Ok(()),
        }
    }
}

impl LoaderFile {
    /// Returns the instructions and behind them the data: the bytes that Linux 7.3 verifies.
    pub fn instructions_and_data(&self) -> Vec<u8> {
        [&*self.instructions, &*self.data].concat()
    }

    /// Returns the signatures.
    pub const fn signatures(&self) -> Option<&LoaderSignatures> {
        self.signatures.as_ref()
    }

    /// Sets the signatures. Replaces earlier ones.
    ///
    /// Fails if the program does not [check its data](Self::checks_data), as the file says: before Linux 7.3,
    /// the signature would cover only the instructions, while the data decides what is loaded.
    /// [`compares_data_hash`](Self::compares_data_hash) looks at the instructions.
    pub fn set_signatures(&mut self, signatures: LoaderSignatures) -> Result<(), LoaderFileError> {
        if !self.checks_data {
            return Err(LoaderFileError::UncheckedData);
        }
        signatures.check()?;
        self.signatures = Some(signatures);
        Ok(())
    }

    /// Removes the signatures.
    pub fn remove_signatures(&mut self) {
        self.signatures = None;
    }
}
