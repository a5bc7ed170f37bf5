//! `/proc/config.gz`.

use std::{
    fs::File,
    io::{self, Read as _},
};

/// Bytes of a kernel's configuration; real ones have a quarter of a megabyte.
const MOST: u64 = 16 * 1024 * 1024;

/// Reads a file that is compressed with gzip.
pub(super) fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(File::open(path)?).take(MOST).read_to_end(&mut out)?;
    Ok(out)
}
