//! The headers of ar archives (ar(5)), as `.deb` files have them (deb(5)).

use crate::{
    error::InputError,
    package::{PackageDefect, stream::read_up_to},
};
use std::{io::Read, path::Path};

/// The first bytes of an archive.
pub(super) const MAGIC: &[u8] = b"!<arch>\n";

/// The size of the header of a member, in bytes.
pub(super) const HEADER_BYTES: u64 = 60;

/// The header of a member.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArHeader {
    pub(super) name: String,
    /// The length of the content in bytes. A byte of padding follows an odd one.
    pub(super) len: u64,
}

/// Reads the header of the next member at `offset`; `None` at the end of the archive.
pub(super) fn read_header(
    path: &Path,
    stream: &mut dyn Read,
    offset: u64,
) -> Result<Option<ArHeader>, InputError> {
    let bytes = read_up_to(path, stream, HEADER_BYTES)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    parse_header(&bytes, offset).map(Some).map_err(|defect| InputError::new(path, defect.into()))
}

fn parse_header(bytes: &[u8], offset: u64) -> Result<ArHeader, PackageDefect> {
    const EXPECTED: &str = "the header of an ar member";
    let truncated = || PackageDefect::Truncated { offset, expected: EXPECTED };
    let name = bytes.get(..16).ok_or_else(truncated)?;
    let size = bytes.get(48..58).ok_or_else(truncated)?;
    let magic = bytes.get(58..60).ok_or_else(truncated)?;
    if magic != b"`\n" {
        return Err(PackageDefect::Magic { offset, expected: EXPECTED });
    }
    let text = |field| String::from_utf8_lossy(field).trim_end().to_owned();
    let size = text(size);
    let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    let Some(len) = size.parse().ok().filter(|_| is_number) else {
        let expected = "a decimal number";
        return Err(PackageDefect::Field { offset, field: "size of the ar member", found: size, expected });
    };
    // GNU ar ends names with a slash.
    let name = text(name).trim_end_matches('/').to_owned();
    Ok(ArHeader { name, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_a_name_and_a_decimal_size() {
        let header = |name: &str, size: &str, magic: &str| {
            let text = format!("{name:16}{:<12}{:<6}{:<6}{:<8}{size:10}{magic}", 0, 0, 0, 100_644);
            parse_header(text.as_bytes(), 8)
        };
        let expected = ArHeader { name: "data.tar.xz".to_owned(), len: 9_999_999_999 };
        assert_eq!(header("data.tar.xz", "9999999999", "`\n"), Ok(expected));
        assert_eq!(header("data.tar/", "12", "`\n").map(|header| header.name), Ok("data.tar".to_owned()));
        assert!(matches!(header("data.tar", "12", "``"), Err(PackageDefect::Magic { offset: 8, .. })));
        for size in ["", "-1", "+1", "0x10", "1 2"] {
            assert!(
                matches!(header("a", size, "`\n"), Err(PackageDefect::Field { offset: 8, .. })),
                "{size}"
            );
        }
        assert!(matches!(parse_header(b"debian-binary", 8), Err(PackageDefect::Truncated { .. })));
    }
}
