//! Signatures that another program makes: the bytes that they cover, and loader files with them.

use super::NamedLoaderFile;
use crate::{
    args::gen_loader::GenLoaderArgs,
    error::{BadInput, escape_path},
    input::{limits::MAX_KEY_BYTES, loader_file, object::ObjectFile},
    output::{self, NewOutput},
};
use core_relo_kernels::file;
use core_relo_loader::loader_program::{LoaderFile, LoaderSignatures};
use std::path::Path;

/// The tag of a sequence, the first byte of a PKCS#7 message in DER.
const SEQUENCE: u8 = 0x30;

/// Writes the bytes that the two signatures of a file cover, if the options name files for them.
pub(super) fn write_bytes_to_sign(args: &GenLoaderArgs, loader: &LoaderFile) -> Result<(), BadInput> {
    let [instructions, with_data] = &*args.bytes_to_sign else { return Ok(()) };
    if !loader.checks_data() {
        let what = "a signature would not cover the data: the loader program does not check it";
        let bad = BadInput::for_path(&args.file, what);
        return Err(bad.help("generate the file with --signable"));
    }
    output::write_both(
        NewOutput { path: instructions, content: loader.instructions() },
        NewOutput { path: with_data, content: &loader.instructions_and_data() },
    )
}

/// Writes a loader file with the signatures of the options.
pub(super) fn add_signatures(args: &GenLoaderArgs) -> Result<NamedLoaderFile, BadInput> {
    let [instructions, with_data] = &*args.signature else {
        return Err(BadInput::new("--signature", "expected two files"));
    };
    let output = args.output.as_ref().ok_or_else(super::no_output)?;
    let input = ObjectFile::read(&args.file)?;
    let mut loader = loader_file::parse(&input)?;
    loader_file::check_signable(&input, &loader)?;
    let signatures = LoaderSignatures {
        instructions: read_message(instructions)?,
        instructions_and_data: read_message(with_data)?,
    };
    let bad = |error| loader_file::explain(&input, &error);
    loader.set_signatures(signatures).map_err(bad)?;
    let bytes = loader.write().map_err(bad)?;
    output::write(output, &bytes)?;
    Ok(NamedLoaderFile { path: escape_path(output), file: loader, bytes: bytes.len() })
}

/// Reads a PKCS#7 message. The kernel checks its contents.
fn read_message(path: &Path) -> Result<Vec<u8>, BadInput> {
    let message = file::read(path, MAX_KEY_BYTES)?;
    if message.first() != Some(&SEQUENCE) {
        let bad = BadInput::for_path(path, "no PKCS#7 message in DER");
        return Err(bad.help("`openssl cms -sign` writes one with -outform DER"));
    }
    Ok(message.to_vec())
}
