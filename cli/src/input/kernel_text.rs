//! Texts about a kernel: its configuration, its symbols.

use super::limits::KERNEL_TEXT_BYTES;
use crate::error::BadInput;
use flate2::read::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Reads a text such as `/boot/config-*`, `/proc/config.gz` or `/proc/kallsyms`. Unpacks a gzip file. Replaces bytes that are not UTF-8.
pub(crate) fn read(path: &Path) -> Result<String, BadInput> {
    let cannot_be_read = |e: io::Error| BadInput::for_path(path, format_args!("cannot be read: {e}"));
    // A FIFO would block.
    if !path.metadata().map_err(cannot_be_read)?.is_file() {
        return Err(BadInput::for_path(path, "is not a regular file"));
    }
    let data = read_limited(File::open(path).map_err(cannot_be_read)?).map_err(cannot_be_read)?;
    let text = match data.starts_with(GZIP) {
        true => read_limited(MultiGzDecoder::new(&*data))
            .map_err(|e| BadInput::for_path(path, format_args!("cannot be unpacked: {e}")))?,
        false => data,
    };
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn read_limited(source: impl Read) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    source.take(KERNEL_TEXT_BYTES).read_to_end(&mut data)?;
    if u64::try_from(data.len()).is_ok_and(|len| len < KERNEL_TEXT_BYTES) {
        return Ok(data);
    }
    Err(io::Error::other(format!(
        "it has {KERNEL_TEXT_BYTES} bytes or more, expected a configuration or a list of symbols"
    )))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::{fs, io::Write as _};

    #[test]
    fn texts_are_read_and_unpacked_within_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        fs::write(&path, "CONFIG_HZ=250\n").unwrap();
        assert_eq!(read(&path).unwrap(), "CONFIG_HZ=250\n");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"CONFIG_HZ=1000\n").unwrap();
        fs::write(&path, gzip.finish().unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), "CONFIG_HZ=1000\n");
        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        io::copy(&mut io::repeat(0).take(KERNEL_TEXT_BYTES), &mut bomb).unwrap();
        fs::write(&path, bomb.finish().unwrap()).unwrap();
        assert!(read(&path).unwrap_err().what.contains("cannot be unpacked"));
        assert!(read(dir.path()).is_err());
    }
}
