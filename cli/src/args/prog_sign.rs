//! The arguments of `prog sign`.

use crate::format::Format;
use crate::output::{OutputKind, OutputPath};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
  core-relo prog sign exec.loader --key key.pem --certificate cert.pem -o exec.signed.loader
  core-relo load exec.signed.loader --keyring session

Signs the instructions of a loader program, as `bpftool -S -k KEY -i CERT gen skeleton -L` does: a detached PKCS#7 message in DER,
without certificates and attributes. The loader program compares its data with a hash in its instructions, so that the signature covers
both. The kernel checks the signature when it loads the program (Linux 6.18), if a keyring has the certificate. Signing needs no
privileges. Exit status: 0 if the file was written, 2 if not.";

#[derive(Debug, Args)]
pub(crate) struct ProgSignArgs {
    /// Loader file from `core-relo gen loader --signable`; `-` is stdin
    #[arg(value_name = "LOADER", value_hint = ValueHint::FilePath)]
    pub(crate) loader: PathBuf,
    /// Private key in PEM, without a passphrase: RSA, or ECDSA over P-256 or P-384
    #[arg(short, long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: PathBuf,
    /// Certificate of the key, in PEM or DER (X.509)
    #[arg(short = 'i', long, value_name = "CERT", value_hint = ValueHint::FilePath)]
    pub(crate) certificate: PathBuf,
    /// File to write the signed loader file to; may be LOADER; `-` is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, value_parser = OutputPath::parser_in_place_of("loader", OutputKind::LoaderFile))]
    pub(crate) output: OutputPath,
    /// Hash algorithm of the signature
    #[arg(long, value_enum, value_name = "HASH", default_value_t)]
    pub(crate) digest: Digest,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The hash algorithm of a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Digest {
    #[default]
    Sha256,
    Sha384,
    Sha512,
}
