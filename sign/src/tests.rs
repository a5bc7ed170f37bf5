//! Tests of signatures against those of OpenSSL. `tests/signing/README.md` describes the files.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::{Certificate, DigestAlgorithm, KeyError, PrivateKey, sign};
use core_relo_test_support::skip;
use der::pem::{LineEnding, encode_string};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/signing").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap()
}

fn key(name: &str) -> PrivateKey {
    PrivateKey::from_pem(&bytes(name)).unwrap()
}

fn certificate(name: &str) -> Certificate {
    Certificate::parse(&bytes(name)).unwrap()
}

#[test]
fn rsa_signatures_are_those_of_openssl() {
    let certificate = certificate("rsa.der");
    assert_eq!(certificate.serial_hex().len(), 40);
    for key_file in ["rsa.pem", "rsa-pkcs1.pem"] {
        let key = key(key_file);
        assert_eq!(certificate.fits(&key), Ok(true));
        assert_eq!(key.to_string(), "RSA, 2048 bits");
        for (digest, expected) in [
            (DigestAlgorithm::Sha256, "rsa.p7s"),
            (DigestAlgorithm::Sha384, "rsa-sha384.p7s"),
            (DigestAlgorithm::Sha512, "rsa-sha512.p7s"),
        ] {
            let signature = sign(&bytes("return_0.bin"), &key, &certificate, digest).unwrap();
            assert_eq!(signature, bytes(expected), "{key_file}, {expected}");
        }
    }
}

/// An ECDSA signature contains a nonce, so that OpenSSL verifies ours.
#[test]
fn openssl_verifies_each_signature() {
    let dir = tempfile::tempdir().unwrap();
    let signature_file = dir.path().join("signature");
    // OpenSSL reads trusted certificates in PEM only.
    let trusted = dir.path().join("trusted.pem");
    for name in ["rsa", "p256", "p384"] {
        let (key, certificate) = (key(&format!("{name}.pem")), certificate(&format!("{name}.der")));
        assert_eq!(certificate.fits(&key), Ok(true));
        let der = bytes(&format!("{name}.der"));
        fs::write(&trusted, encode_string("CERTIFICATE", LineEnding::LF, &der).unwrap()).unwrap();
        assert_eq!(Certificate::parse(&fs::read(&trusted).unwrap()), Ok(certificate.clone()));
        for digest in [DigestAlgorithm::Sha256, DigestAlgorithm::Sha384, DigestAlgorithm::Sha512] {
            let signature = sign(&bytes("return_0.bin"), &key, &certificate, digest).unwrap();
            fs::write(&signature_file, signature).unwrap();
            let is_verified = |content: &str| {
                let mut command = Command::new("openssl");
                command.args(["cms", "-verify", "-binary", "-purpose", "any", "-inform", "DER", "-in"]);
                command.arg(&signature_file).arg("-content").arg(path(content));
                command.arg("-certfile").arg(&trusted).arg("-CAfile").arg(&trusted);
                command.output().map(|output| (output.status.success(), output.stderr))
            };
            match is_verified("return_0.bin") {
                Err(error) => return skip!(Openssl, "openssl: {error}"),
                Ok((is_good, message)) => {
                    assert!(is_good, "{name}, {digest:?}: {}", String::from_utf8_lossy(&message));
                }
            }
            assert!(!is_verified("README.md").unwrap().0, "{name}, {digest:?}");
        }
    }
}

#[test]
fn a_certificate_of_another_key_does_not_fit() {
    for (key_file, certificate_file) in
        [("rsa.pem", "p256.der"), ("p256.pem", "rsa.der"), ("p384.pem", "p256.der")]
    {
        assert_eq!(certificate(certificate_file).fits(&key(key_file)), Ok(false));
    }
}

#[test]
fn errors_name_what_is_no_usable_key_or_certificate() {
    let of_key = |name: &str| PrivateKey::from_pem(&bytes(name)).err().unwrap().to_string();
    for name in ["encrypted.pem", "encrypted-pkcs1.pem"] {
        assert_eq!(PrivateKey::from_pem(&bytes(name)).err(), Some(KeyError::Encrypted));
    }
    for (name, expected) in [
        ("ed25519.pem", "unsupported kind of private key: 1.3.101.112, expected an RSA key"),
        (
            "p521.pem",
            "unusable elliptic-curve key, expected an RSA key, or a key over the curve P-256 or P-384",
        ),
        ("rsa.der", "no PEM file, expected a private key"),
        ("README.md", "no PEM file, expected a private key"),
    ] {
        assert!(of_key(name).contains(expected), "{}", of_key(name));
    }
    let of_certificate = |name: &str| Certificate::parse(&bytes(name)).err().unwrap().to_string();
    for (name, expected) in [
        ("rsa.pem", "PEM file with other blocks: `PRIVATE KEY`, expected a certificate"),
        ("README.md", "no X.509 certificate in PEM or DER: "),
        ("rsa.p7s", "no X.509 certificate in PEM or DER: "),
    ] {
        assert!(of_certificate(name).contains(expected), "{}", of_certificate(name));
    }
}

#[test]
fn damaged_keys_and_certificates_are_errors() {
    let der = bytes("p256.der");
    for len in 0..der.len() {
        assert!(Certificate::from_der(&der[..len]).is_err(), "{len} bytes");
    }
    let pem = bytes("p256.pem");
    let (label, key_der) = super::pem::find_block(&pem, |_| true).unwrap();
    for len in 0..key_der.len() {
        assert!(PrivateKey::from_der(&label, &key_der[..len]).is_err(), "{len} bytes");
    }
    // What is still a key or certificate after a change may have any value.
    for at in 0..der.len() {
        for value in [0, 0x30, 0x7f, 0x80, 0xff] {
            let mut changed = der.clone();
            changed[at] = value;
            drop(Certificate::from_der(&changed));
        }
    }
    for at in 0..pem.len() {
        for value in [b'-', b'\n', b'A', 0xff] {
            let mut changed = pem.clone();
            changed[at] = value;
            drop(super::pem::find_block(&changed, |label| label.ends_with("PRIVATE KEY")));
        }
    }
}

#[test]
fn a_pem_file_may_have_text_and_other_blocks_first() {
    let pem = |name: &str| String::from_utf8(bytes(name)).unwrap();
    let parameters = "-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n";
    let file = format!("a comment\n{parameters}{}", pem("p384.pem"));
    let (label, der) =
        super::pem::find_block(file.as_bytes(), |label| label.ends_with("PRIVATE KEY")).unwrap();
    assert_eq!(PrivateKey::from_der(&label, &der).ok().unwrap().to_string(), "ECDSA, P-384");
}
