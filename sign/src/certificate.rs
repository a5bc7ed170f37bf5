//! X.509 certificates: the parts by which the kernel finds the key of a signature.

use crate::{
    PrivateKey,
    error::{CertificateError, KeyError},
    pem,
};
use der::{
    AnyRef, Decode as _, Reader as _, SliceReader, Tag, TagNumber, Tagged as _,
    asn1::{BitStringRef, UintRef},
};

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The issuer's name and the serial number, in DER: the kernel finds the key by them.
    pub(super) issuer_and_serial: Vec<u8>,
    /// The serial number.
    pub(super) serial: Vec<u8>,
    /// The bit string of the public key.
    public_key: Vec<u8>,
}

impl Certificate {
    /// Parses the contents of a file in PEM or DER.
    pub fn parse(bytes: &[u8]) -> Result<Self, CertificateError> {
        if pem::is_pem(bytes) {
            let is_certificate = |label: &str| matches!(label, "CERTIFICATE" | "X509 CERTIFICATE");
            let (_, der) = pem::find_block(bytes, is_certificate).map_err(CertificateError::Pem)?;
            return Self::from_der(&der);
        }
        Self::from_der(bytes)
    }

    /// Parses a certificate in DER (RFC 5280, section 4.1).
    pub fn from_der(der: &[u8]) -> Result<Self, CertificateError> {
        Self::parse_der(der).map_err(|error| CertificateError::Invalid(error.to_string()))
    }

    fn parse_der(der: &[u8]) -> der::Result<Self> {
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
    pub fn fits(&self, key: &PrivateKey) -> Result<bool, KeyError> {
        Ok(key.public_key()? == self.public_key)
    }

    /// Returns the serial number in hexadecimal digits, as OpenSSL prints it.
    pub fn serial_hex(&self) -> String {
        self.serial.iter().map(|byte| format!("{byte:02X}")).collect()
    }
}

/// Returns the contents of a sequence.
fn sequence(any: AnyRef<'_>) -> der::Result<&[u8]> {
    any.tag().assert_eq(Tag::Sequence)?;
    Ok(any.value())
}
