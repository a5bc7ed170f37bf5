//! Kernel configuration files, as text or compressed with gzip.

use crate::{
    limits::KCONFIG_BYTES,
    target::{TargetError, open_file, read_all},
};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Returns the files that may have the configuration of a kernel: the file of distributions, the file of
/// `CONFIG_IKCONFIG_PROC`, and the file beside the modules. The first file that can be read counts. libbpf
/// reads the first two.
pub(crate) fn paths(release: &str) -> [PathBuf; 3] {
    [
        format!("/boot/config-{release}").into(),
        "/proc/config.gz".into(),
        format!("/lib/modules/{release}/config").into(),
    ]
}

/// Reads the first file that can be read. Files that end in `.gz` are decompressed. The error has the problem
/// of each file.
pub(crate) fn read_first(paths: &[PathBuf]) -> io::Result<Vec<u8>> {
    let mut problems = Vec::new();
    for path in paths {
        let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
        match if is_compressed { read_gzip(path) } else { read(path) } {
            Ok(bytes) => return Ok(bytes),
            Err(e) if e.kind() == io::ErrorKind::NotFound => problems.push(format!("no {}", path.display())),
            Err(e) => problems.push(format!("{}: {e}", path.display())),
        }
    }
    Err(io::Error::other(problems.join(", ")))
}

/// Reads an uncompressed file.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(open(path)?)
}

/// Reads and decompresses a gzip file.
#[cfg(feature = "kconfig-gz")]
fn read_gzip(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(flate2::read::GzDecoder::new(open(path)?))
}

/// Returns an error: this build has no decompressor.
#[cfg(not(feature = "kconfig-gz"))]
fn read_gzip(path: &Path) -> io::Result<Vec<u8>> {
    open(path)?;
    let problem = "it is compressed with gzip (the agent was built without the feature `kconfig-gz` \
                   of the crate core-relo-loader)";
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
    fn the_first_file_that_can_be_read_counts_and_the_error_names_all() {
        let dir = env::temp_dir().join(format!("core-relo-kconfigs-{}", process::id()));
        fs::create_dir(&dir).unwrap();
        let paths = ["boot", "proc.gz", "modules"].map(|name| dir.join(name));
        let error = read_first(&paths).unwrap_err().to_string();
        assert!(paths.iter().all(|path| error.contains(&path.display().to_string())), "{error}");
        fs::write(&paths[2], "CONFIG_A=m\n").unwrap();
        assert_eq!(read_first(&paths).unwrap(), b"CONFIG_A=m\n");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"CONFIG_A=y\n").unwrap();
        fs::write(&paths[1], gzip.finish().unwrap()).unwrap();
        assert_eq!(read_first(&paths).unwrap(), b"CONFIG_A=y\n");
        fs::remove_dir_all(&dir).unwrap();
        let of_kernel = super::paths("6.1.0");
        assert!(of_kernel.contains(&"/lib/modules/6.1.0/config".into()), "{of_kernel:?}");
    }

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
