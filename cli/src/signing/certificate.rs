//! X.509 certificates: the parts by which the kernel finds the key of a signature.

use super::{PrivateKey, pem};
use crate::{error::BadInput, input::limits::MAX_KEY_BYTES};
use core_relo_kernels::file;
use der::{
    AnyRef, Decode as _, Reader as _, SliceReader, Tag, TagNumber, Tagged as _,
    asn1::{BitStringRef, UintRef},
};
use std::path::Path;

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// The issuer's name and the serial number, in DER: the kernel finds the key by them.
    pub(super) issuer_and_serial: Vec<u8>,
    /// The serial number.
    pub(super) serial: Vec<u8>,
    /// The bit string of the public key.
    public_key: Vec<u8>,
}

impl Certificate {
    /// Reads a certificate from a file in PEM or DER.
    pub(crate) fn read(path: &Path) -> Result<Self, BadInput> {
        let bytes = file::read(path, MAX_KEY_BYTES)?;
        let bad = |what: String| BadInput::for_path(path, what);
        if pem::is_pem(&bytes) {
            let is_certificate = |label: &str| matches!(label, "CERTIFICATE" | "X509 CERTIFICATE");
            let block = pem::find_block(&bytes, is_certificate);
            let (_, der) = block.map_err(|what| bad(format!("{what}, expected a certificate")))?;
            return Self::from_der(&der).map_err(bad);
        }
        Self::from_der(&bytes).map_err(bad)
    }

    /// Parses a certificate (RFC 5280, section 4.1).
    pub(super) fn from_der(der: &[u8]) -> Result<Self, String> {
        Self::parse(der).map_err(|error| format!("no X.509 certificate in PEM or DER: {error}"))
    }

    fn parse(der: &[u8]) -> der::Result<Self> {
        const VERSION: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };
        let mut certificate = SliceReader::new(sequence(AnyRef::from_der(der)?)?)?;
        let mut fields = SliceReader::new(sequence(AnyRef::decode(&mut certificate)?)?)?;
        // Version 1 is the default.
        if Tag::peek(&fields)? == VERSION {
            fields.tlv_bytes()?;
        }
        let serial = fields.tlv_bytes()?;
        let _signature_algorithm = fields.tlv_bytes()?;
        let issuer = fields.tlv_bytes()?;
        let _validity = fields.tlv_bytes()?;
        let _subject = fields.tlv_bytes()?;
        let mut key = SliceReader::new(sequence(AnyRef::decode(&mut fields)?)?)?;
        let _algorithm = key.tlv_bytes()?;
        let public_key = BitStringRef::decode(&mut key)?;
        key.finish()?;
        sequence(AnyRef::from_der(issuer)?)?;
        Ok(Self {
            issuer_and_serial: [issuer, serial].concat(),
            serial: UintRef::from_der(serial)?.as_bytes().to_vec(),
            public_key: public_key.raw_bytes().to_vec(),
        })
    }

    /// Returns whether the certificate is that of a private key.
    pub(crate) fn fits(&self, key: &PrivateKey) -> Result<bool, String> {
        Ok(key.public_key()? == self.public_key)
    }

    /// Returns the serial number in hexadecimal digits, as OpenSSL prints it.
    pub(crate) fn serial_hex(&self) -> String {
        self.serial.iter().map(|byte| format!("{byte:02X}")).collect()
    }
}

/// Returns the contents of a sequence.
fn sequence(any: AnyRef<'_>) -> der::Result<&[u8]> {
    any.tag().assert_eq(Tag::Sequence)?;
    Ok(any.value())
}
