//! The PKCS#7 message of a signature: `SignedData` of RFC 5652 without the data, certificates and attributes,
//! as bpftool and the kernel's `sign-file -d` write it.

use crate::{Certificate, DigestAlgorithm, PrivateKey, error::SignError, key::Key};
use der::{AnyRef, Encode as _, Tag, TagNumber, asn1::ObjectIdentifier};
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// `id-signedData` and `id-data`.
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
/// `rsaEncryption`.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// The version of `SignedData` and `SignerInfo` with issuer and serial number.
const VERSION: u8 = 1;

/// The first tag in a sequence that a context defines, around a whole value.
const EXPLICIT_0: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };

/// Returns the detached signature of data.
///
/// The kernel finds the key by the issuer and the serial number of the certificate.
pub fn sign(
    data: &[u8],
    key: &PrivateKey,
    certificate: &Certificate,
    digest: DigestAlgorithm,
) -> Result<Vec<u8>, SignError> {
    let signature = key.sign_hash(digest, &hash(digest, data))?;
    encode(&signature, key, certificate, digest).map_err(|error| SignError::Encoding(error.to_string()))
}

fn encode(
    signature: &[u8],
    key: &PrivateKey,
    certificate: &Certificate,
    digest: DigestAlgorithm,
) -> der::Result<Vec<u8>> {
    let digest_algorithm = value(Tag::Sequence, &[&digest_oid(digest).to_der()?])?;
    let signature_algorithm = match &key.0 {
        Key::Rsa(_) => value(Tag::Sequence, &[&RSA.to_der()?, &value(Tag::Null, &[])?])?,
        Key::P256(_) | Key::P384(_) => value(Tag::Sequence, &[&ecdsa_oid(digest).to_der()?])?,
    };
    let version = VERSION.to_der()?;
    let signer = value(
        Tag::Sequence,
        &[
            &version,
            &value(Tag::Sequence, &[&certificate.issuer_and_serial])?,
            &digest_algorithm,
            &signature_algorithm,
            &value(Tag::OctetString, &[signature])?,
        ],
    )?;
    let signed_data = value(
        Tag::Sequence,
        &[
            &version,
            &value(Tag::Set, &[&digest_algorithm])?,
            &value(Tag::Sequence, &[&DATA.to_der()?])?,
            &value(Tag::Set, &[&signer])?,
        ],
    )?;
    value(Tag::Sequence, &[&SIGNED_DATA.to_der()?, &value(EXPLICIT_0, &[&signed_data])?])
}

/// Encodes a value whose contents are other values.
fn value(tag: Tag, contents: &[&[u8]]) -> der::Result<Vec<u8>> {
    AnyRef::new(tag, &contents.concat())?.to_der()
}

fn hash(digest: DigestAlgorithm, data: &[u8]) -> Vec<u8> {
    match digest {
        DigestAlgorithm::Sha256 => Sha256::digest(data).to_vec(),
        DigestAlgorithm::Sha384 => Sha384::digest(data).to_vec(),
        DigestAlgorithm::Sha512 => Sha512::digest(data).to_vec(),
    }
}

/// Returns the identifier of a hash algorithm.
const fn digest_oid(digest: DigestAlgorithm) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(match digest {
        DigestAlgorithm::Sha256 => "2.16.840.1.101.3.4.2.1",
        DigestAlgorithm::Sha384 => "2.16.840.1.101.3.4.2.2",
        DigestAlgorithm::Sha512 => "2.16.840.1.101.3.4.2.3",
    })
}

/// Returns the identifier of ECDSA with a hash algorithm.
const fn ecdsa_oid(digest: DigestAlgorithm) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(match digest {
        DigestAlgorithm::Sha256 => "1.2.840.10045.4.3.2",
        DigestAlgorithm::Sha384 => "1.2.840.10045.4.3.3",
        DigestAlgorithm::Sha512 => "1.2.840.10045.4.3.4",
    })
}
