//! PEM blocks of a file. OpenSSL writes text before blocks, and parameters of curves as blocks of their own.

use crate::error::PemError;
use der::pem;

/// The start and the end of the lines around a block, before its label.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
/// The end of these lines.
const DASHES: &str = "-----";

/// Returns whether bytes contain a PEM block.
pub(super) fn is_pem(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok_and(|text| text.contains(BEGIN))
}

/// Returns the label and the contents of the first block whose label is wanted. Contents that OpenSSL has
/// encrypted in the old way are left out, and the label begins with `ENCRYPTED`, as the label of newer
/// encrypted keys does.
pub(super) fn find_block(
    bytes: &[u8],
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(String, Vec<u8>), PemError> {
    let text = str::from_utf8(bytes).map_err(|_binary| PemError::NoBlock)?;
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some((_, block)) = rest.split_once(BEGIN) {
        let (label, body) = block.split_once(DASHES).ok_or(PemError::NoLabel)?;
        let (body, after) = body.split_once(END).ok_or(PemError::NoEnd)?;
        if is_wanted(label) {
            if body.contains("ENCRYPTED") {
                return Ok((format!("ENCRYPTED {label}"), Vec::new()));
            }
            let only_block = format!("{BEGIN}{label}{DASHES}{body}{END}{label}{DASHES}\n");
            let (_, der) = pem::decode_vec(only_block.as_bytes())
                .map_err(|error| PemError::Damaged { label: label.to_owned(), problem: error.to_string() })?;
            return Ok((label.to_owned(), der));
        }
        labels.push(label.to_owned());
        rest = after;
    }
    Err(if labels.is_empty() { PemError::NoBlock } else { PemError::OtherBlocks(labels) })
}
