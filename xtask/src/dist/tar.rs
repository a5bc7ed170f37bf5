//! Archives in the format ustar (POSIX.1-1988), packed by gzip. The owner of all files is root.

use std::io::Write as _;

use super::files::{DIRECTORY_PERMISSIONS, Files};
use crate::system::Outcome;

/// The size of a header, and the unit of sizes.
const BLOCK: usize = 512;

/// The maximum length of a path without the field `prefix`.
const PATH_BYTES: usize = 100;

/// The kind of an entry.
#[derive(Clone, Copy)]
enum Kind {
    File,
    Directory,
}

/// Returns an archive of files and their directories. Paths begin with `prefix`, which is empty or ends
/// with `/`.
pub fn tar(files: &Files, prefix: &str, time: u64) -> Outcome<Vec<u8>> {
    let mut archive = Vec::new();
    if !prefix.is_empty() {
        archive.extend(header(prefix, Kind::Directory, DIRECTORY_PERMISSIONS, 0, time)?);
    }
    for directory in files.directories() {
        let path = format!("{prefix}{directory}/");
        archive.extend(header(&path, Kind::Directory, DIRECTORY_PERMISSIONS, 0, time)?);
    }
    for (path, file) in files.iter() {
        let path = format!("{prefix}{path}");
        archive.extend(header(&path, Kind::File, file.permissions(), file.data.len(), time)?);
        archive.extend(&file.data);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    Ok(archive)
}

/// Packs bytes. The header has no name, time and system.
pub fn gzip(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let done = packed.write_all(bytes).and_then(|()| packed.finish());
    done.map_err(|error| format!("gzip: {error}").into())
}

fn header(path: &str, kind: Kind, permissions: u32, bytes: usize, time: u64) -> Outcome<Vec<u8>> {
    if path.len() >= PATH_BYTES {
        return Err(format!("{path}: {} bytes, expected fewer than {PATH_BYTES}", path.len()).into());
    }
    let kind = match kind {
        Kind::File => '0',
        Kind::Directory => '5',
    };
    // Path, permissions, user, group, size, time, checksum, kind, link, magic and version, names of user and
    // group.
    let before_sum =
        format!("{path:\0<100}{permissions:07o}\0{:07o}\0{:07o}\0{bytes:011o}\0{time:011o}\0", 0, 0);
    let after_sum = format!("{kind}{:\0<100}ustar\0{:\0<2}{:\0<32}{:\0<32}", "", "00", "root", "root");
    let sum: u32 =
        before_sum.bytes().chain(after_sum.bytes()).map(u32::from).sum::<u32>() + 8 * u32::from(b' ');
    let mut header = format!("{before_sum}{sum:06o}\0 {after_sum}").into_bytes();
    header.resize(BLOCK, 0);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::output;
    use std::process::Command;

    #[test]
    fn tar_lists_the_archive() {
        let mut files = Files::default();
        files.add("doc/a.txt", "text");
        files.add_executable("run", vec![7; 1000]);
        let packed = gzip(&tar(&files, "top/", 1_700_000_000).unwrap()).unwrap();
        let path = std::env::temp_dir().join(format!("core-relo-tar-{}.tar.gz", std::process::id()));
        std::fs::write(&path, packed).unwrap();
        let mut list = Command::new("tar");
        list.args(["--utc", "--full-time", "-tvzf"]).arg(&path);
        let listed = output(&mut list);
        std::fs::remove_file(&path).unwrap();
        let Some(listed) = listed else { return core_relo_test_support::skip!("no GNU tar") };
        let lines: Vec<_> =
            listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "drwxr-xr-x root/root 0 2023-11-14 22:13:20 top/",
                "drwxr-xr-x root/root 0 2023-11-14 22:13:20 top/doc/",
                "-rw-r--r-- root/root 4 2023-11-14 22:13:20 top/doc/a.txt",
                "-rwxr-xr-x root/root 1000 2023-11-14 22:13:20 top/run",
            ]
        );
    }
}
