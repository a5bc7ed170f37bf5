//! Texts about a kernel: its configuration, its symbols.

use super::{file, limits::KERNEL_TEXT_BYTES};
use crate::error::{Defect, InputError};
use flate2::read::MultiGzDecoder;
use rustix::fs::{Mode, OFlags};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Reads a text such as `/boot/config-*`, `/proc/config.gz` or `/proc/kallsyms`. Copies a stream. Unpacks a
/// gzip file. Replaces bytes that are not UTF-8.
pub fn read(path: &Path) -> Result<String, InputError> {
    let cannot_be_read = |e: io::Error| InputError::new(path, Defect::UnreadableText(e.into()));
    let file = match file::copy_stream(path, KERNEL_TEXT_BYTES)? {
        Some(copy) => copy,
        // Another FIFO would block. The files of /proc have no length, so that `file::read` refuses them.
        None if !path.metadata().map_err(cannot_be_read)?.is_file() => {
            return Err(InputError::new(path, Defect::TextNotAFile));
        }
        // The kernel's log in /proc/kmsg has no end. A read would wait for the next message.
        None => File::from(
            rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
                .map_err(|errno| cannot_be_read(errno.into()))?,
        ),
    };
    let data = read_limited(file).map_err(cannot_be_read)?;
    let text = match data.starts_with(GZIP) {
        true => read_limited(MultiGzDecoder::new(&*data))
            .map_err(|e| InputError::new(path, Defect::PackedText(e.into())))?,
        false => data,
    };
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Reads a kernel's configuration. A file without any option is an error: no option would count as set.
pub fn read_kconfig(path: &Path) -> Result<String, InputError> {
    let text = read(path)?;
    let is_option = |line: &str| line.starts_with("CONFIG_") || line.starts_with("# CONFIG_");
    if text.lines().any(is_option) {
        return Ok(text);
    }
    Err(InputError::new(path, Defect::NoOption))
}

/// Returns whether a text lists the symbols of a kernel: every kernel has the symbol `_text`. Debian installs
/// a `System.map` that only names the package with the symbols.
pub(crate) fn has_kernel_symbols(text: &str) -> bool {
    text.lines().any(|line| line.ends_with(" _text"))
}

/// Reads a list of symbols. A file without any symbol is an error: no function would count as present.
pub fn read_kallsyms(path: &Path) -> Result<String, InputError> {
    let text = read(path)?;
    let is_symbol = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address = words.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_hexdigit()));
        address && words.next().is_some_and(|word| word.len() == 1) && words.next().is_some()
    };
    if text.lines().any(is_symbol) {
        return Ok(text);
    }
    Err(InputError::new(path, Defect::NoSymbol))
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
        assert!(read(&path).unwrap_err().what().contains("cannot be unpacked"));
        assert!(read(dir.path()).is_err());
    }

    #[test]
    fn other_texts_are_no_evidence() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        let write = |text: &str| fs::write(&path, text).unwrap();
        for text in ["", "root:x:0:0:root:/root:/bin/bash\n", "\u{1}\u{fffd}noise", "deadbeef\n", "abc t\n"] {
            write(text);
            assert!(read_kconfig(&path).unwrap_err().defect == Defect::NoOption, "{text:?}");
            assert!(read_kallsyms(&path).unwrap_err().defect == Defect::NoSymbol, "{text:?}");
        }
        write("#\n# CONFIG_NUMA is not set\n");
        assert!(read_kconfig(&path).is_ok());
        write("0000000000000000 T schedule\n");
        assert!(read_kallsyms(&path).is_ok());
    }
}
