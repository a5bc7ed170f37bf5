//! `prog sign`: loader files with a signature.

use crate::{
    args::prog_sign::{Digest, ProgSignArgs},
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    input::{limits::MAX_KEY_BYTES, loader_file, object::ObjectFile},
    output,
    text::{line::Line, style},
};
use core_relo_kernels::file;
use core_relo_loader::loader_program::LoaderSignatures;
use core_relo_sign::{Certificate, DigestAlgorithm, KeyError, PrivateKey};
use serde::Serialize;
use std::path::Path;

/// The report on a signed file, and its JSON line.
#[derive(Serialize)]
struct SignReport {
    loader: String,
    output: String,
    /// The kind and size of the key.
    key: String,
    /// The serial number of the certificate, in hexadecimal digits.
    serial: String,
    digest: &'static str,
    signature_bytes: usize,
    /// Whether the file had a signature before.
    replaced: bool,
}

pub(crate) fn run(console: &mut Console<'_>, args: &ProgSignArgs) -> CommandResult {
    let report = sign(args)?;
    if console.format == Format::Json {
        return Ok(console.out.json(&report)?);
    }
    let SignReport { loader, output, key, serial, digest, .. } = &report;
    let text = format_args!(": {output}: {loader}, {key}, {digest}, certificate {serial}");
    Ok(console.out.line(Line::new().styled(style::GOOD, "signed").text(text))?)
}

fn sign(args: &ProgSignArgs) -> Result<SignReport, BadInput> {
    let input = ObjectFile::read(&args.loader)?;
    let mut loader = loader_file::parse(&input)?;
    loader_file::check_signable(&input, &loader)?;
    let replaced = loader.signatures().is_some();
    let key = read_key(&args.key)?;
    let certificate = read_certificate(&args.certificate)?;
    if !certificate.fits(&key).map_err(|error| BadInput::for_path(&args.key, error))? {
        let what = format!("the certificate belongs to another key than {}", escape_path(&args.key));
        return Err(BadInput::for_path(&args.certificate, what));
    }
    let digest = digest_algorithm(args.digest);
    let sign = |bytes: &[u8]| {
        let signature = core_relo_sign::sign(bytes, &key, &certificate, digest);
        signature.map_err(|error| BadInput::for_path(&args.key, error))
    };
    let signatures = LoaderSignatures {
        instructions: sign(loader.instructions())?,
        instructions_and_data: sign(&loader.instructions_and_data())?,
    };
    let signature_bytes = signatures.instructions.len();
    let bad = |error| loader_file::explain(&input, &error);
    loader.set_signatures(signatures).map_err(bad)?;
    let signed = loader.write().map_err(bad)?;
    output::write(&args.output, &signed)?;
    Ok(SignReport {
        loader: input.name,
        output: escape_path(&args.output),
        key: key.to_string(),
        serial: certificate.serial_hex(),
        digest: digest.name(),
        signature_bytes,
        replaced,
    })
}

const fn digest_algorithm(digest: Digest) -> DigestAlgorithm {
    match digest {
        Digest::Sha256 => DigestAlgorithm::Sha256,
        Digest::Sha384 => DigestAlgorithm::Sha384,
        Digest::Sha512 => DigestAlgorithm::Sha512,
    }
}

/// Reads a key from a PEM file.
fn read_key(path: &Path) -> Result<PrivateKey, BadInput> {
    PrivateKey::from_pem(&file::read(path, MAX_KEY_BYTES)?).map_err(|error| {
        let help = match error {
            KeyError::Encrypted => {
                "decrypt it to a file that only you can read: `openssl pkey -in KEY.pem -out PLAIN.pem`"
            }
            _ => "",
        };
        BadInput::for_path(path, error).help(help)
    })
}

/// Reads a certificate from a file in PEM or DER.
fn read_certificate(path: &Path) -> Result<Certificate, BadInput> {
    Certificate::parse(&file::read(path, MAX_KEY_BYTES)?).map_err(|error| BadInput::for_path(path, error))
}
