//! An index of a repository, and the verification of its signature.

use super::{
    address::{Address, Scheme},
    available::Protection,
    error::FetchError,
    fetcher::Fetcher,
    keyring::binary_keyring,
    mirrors::Mirror,
    signature::{SignedIndex, Verifier, verify},
    store::write_file,
};

/// An index that has not been verified.
pub(super) struct IndexFile {
    pub(super) address: Address,
    pub(super) content: String,
    pub(super) signature: Option<Vec<u8>>,
    /// The files that may have the signature, for messages.
    pub(super) signature_names: &'static str,
}

impl Fetcher<'_> {
    /// Verifies the signature of an index, and returns what protects it.
    ///
    /// Where the machine has the keyring and a program that verifies signatures, an index without a good
    /// signature is an error, unless the mirror is a directory of this machine or the user allows it.
    pub(super) fn verify_index(&self, mirror: &Mirror, index: &IndexFile) -> Result<Protection, FetchError> {
        let IndexFile { address, content, signature, signature_names } = index;
        let unsigned = protection_without_signature(address);
        let verifier = Verifier::find().filter(|_| !mirror.keyrings.is_empty());
        let Some(verifier) = verifier.filter(|_| !self.options.allow_unsigned) else {
            return Ok(unsigned);
        };
        let Some(signature) = signature else {
            if unsigned == Protection::File {
                return Ok(unsigned);
            }
            let reason = format!("the mirror does not have {signature_names}");
            return Err(FetchError::Unverified { address: address.clone(), reason });
        };
        let tmp = self.store.temporary_dir()?;
        let files =
            SignedIndex { content: tmp.path().join("index"), signature: tmp.path().join("signature") };
        write_file(&files.content, content.as_bytes())?;
        write_file(&files.signature, signature)?;
        let keyring = binary_keyring(&mirror.keyrings, tmp.path())?;
        verify(verifier, &keyring, &files, address)?;
        let names: Vec<_> = mirror.keyrings.iter().map(|keyring| keyring.display().to_string()).collect();
        Ok(Protection::Signature { keyring: names.join(", ") })
    }
}

/// Returns what protects an index without a signature.
pub(super) fn protection_without_signature(address: &Address) -> Protection {
    match address.scheme() {
        Scheme::File(_) => Protection::File,
        Scheme::Https => Protection::Tls,
        Scheme::Http => Protection::None,
    }
}
