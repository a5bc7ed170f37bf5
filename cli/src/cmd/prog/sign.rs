//! `prog sign`: loader files with a signature.

use crate::{
    args::prog_sign::ProgSignArgs,
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    input::{loader_file, object::ObjectFile},
    output,
    signing::{self, Certificate, PrivateKey},
    text::{line::Line, style},
};
use core_relo_loader::loader_program::LoaderSignatures;
use serde::Serialize;

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
    let key = PrivateKey::read(&args.key)?;
    let certificate = Certificate::read(&args.certificate)?;
    let bad_key = |what: String| BadInput::for_path(&args.key, what);
    if !certificate.fits(&key).map_err(bad_key)? {
        let what = format!("the certificate belongs to another key than {}", escape_path(&args.key));
        return Err(BadInput::for_path(&args.certificate, what));
    }
    let sign = |bytes: &[u8]| signing::sign(bytes, &key, &certificate, args.digest).map_err(bad_key);
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
        digest: args.digest.name(),
        signature_bytes,
        replaced,
    })
}
