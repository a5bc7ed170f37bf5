//! Kernel configuration files, as text or compressed with gzip.

use crate::{
    limits::KCONFIG_BYTES,
    target::{TargetError, open_file, read_all},
};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Reads an uncompressed file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(open(path)?)
}

/// Reads and decompresses a gzip file.
#[cfg(feature = "kconfig-gz")]
pub(crate) fn read_gzip(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(flate2::read::GzDecoder::new(open(path)?))
}

/// Returns an error: this build has no decompressor.
#[cfg(not(feature = "kconfig-gz"))]
pub(crate) fn read_gzip(path: &Path) -> io::Result<Vec<u8>> {
    open(path)?;
    let problem = "it is compressed with gzip, which needs a build with the crate feature `kconfig-gz`";
    Err(io::Error::new(io::ErrorKind::Unsupported, problem))
}

/// Opens a regular file without waiting, so that a named pipe is an error.
fn open(path: &Path) -> io::Result<File> {
    open_file(path).map(|(file, _)| file).map_err(|e| match e {
        TargetError::Io { errno: Some(errno), .. } => io::Error::from_raw_os_error(errno),
        TargetError::Io { kind, .. } => kind.into(),
        _ => io::Error::other("it is not a regular file"),
    })
}

fn read_bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let bytes = read_all(source, 0, KCONFIG_BYTES)?;
    let too_large = || io::Error::other(format!("it has more than {KCONFIG_BYTES} bytes"));
    bytes.map(|bytes| bytes.to_vec()).ok_or_else(too_large)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, fs, io::Write as _, process};

    #[test]
    fn a_configuration_is_limited_in_size_and_is_a_regular_file() {
        let path = env::temp_dir().join(format!("core-relo-kconfig-{}.gz", process::id()));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"CONFIG_A=y\n").unwrap();
        fs::write(&path, gzip.finish().unwrap()).unwrap();
        assert_eq!(read_gzip(&path).unwrap(), b"CONFIG_A=y\n");
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        (0..17).for_each(|_| bomb.write_all(&vec![0; 1 << 20]).unwrap());
        fs::write(&path, bomb.finish().unwrap()).unwrap();
        let text = read_gzip(&path).unwrap_err().to_string();
        assert_eq!(text, "it has more than 16777216 bytes");
        File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), text);
        fs::remove_file(&path).unwrap();
        let socket = path.with_extension("socket");
        // Nobody can open a socket: the error shows that the kind of the file is checked first.
        std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [Path::new("/dev/zero"), Path::new("/proc/version"), &socket] {
            assert_eq!(read(path).unwrap_err().to_string(), "it is not a regular file", "{}", path.display());
        }
        fs::remove_file(&socket).unwrap();
    }
}
