//! Opens regular files. Directories, devices, pipes and files that the kernel generates on read are errors.

use crate::sys;
use core_relo_object::target::TargetError;
use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Magic numbers of file systems whose files of length 0 are not empty. The kernel generates their content on
/// read, and some of these files (`trace_pipe`, `/proc/kmsg`) have no end.
const PSEUDO_FILE_SYSTEMS: [u64; 19] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x7472_6163, // tracefs
    0x6462_6720, // debugfs
    0x7363_6673, // securityfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0xcafe_4a11, // bpffs
    0x6265_6570, // configfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0xde5e_81e4, // efivarfs
    0x6165_676c, // pstore
    0x4249_4e4d, // binfmt_misc
    0x1980_0202, // mqueue
    0x0765_5821, // resctrl
    0x6e66_7364, // nfsd
    0x6573_5543, // fusectl
    0x6759_6969, // rpc_pipefs
];

/// Opens a regular file for reading. Neither opening nor reading the file ever waits.
///
/// The function checks the path before it opens the file, because opening a device or a file of tracefs may
/// have side effects. It checks the open file again, because the path may lead to another file by then.
///
/// ```
/// use core_relo_loader::target::{TargetError, open_file};
/// use std::path::PathBuf;
///
/// let path = PathBuf::from("/dev/zero");
/// assert_eq!(open_file(&path).unwrap_err(), TargetError::NotAFile { path });
/// ```
pub fn open_file(path: &Path) -> Result<(File, Metadata), TargetError> {
    let error = |e| io_error(path, &e);
    check_regular(path, &sys::open_path(path).map_err(error)?)?;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(error)?;
    let meta = check_regular(path, &file)?;
    Ok((file, meta))
}

/// Checks that a file can be read to its end. Returns the file's metadata.
fn check_regular(path: &Path, file: &File) -> Result<Metadata, TargetError> {
    let meta = file.metadata().map_err(|e| io_error(path, &e))?;
    if !meta.is_file() {
        return Err(TargetError::NotAFile { path: path.to_path_buf() });
    }
    if meta.len() == 0 {
        let file_system = sys::file_system(file).map_err(|e| io_error(path, &e))?;
        if PSEUDO_FILE_SYSTEMS.contains(&file_system) {
            return Err(TargetError::PseudoFile { path: path.to_path_buf() });
        }
    }
    Ok(meta)
}

pub(super) fn io_error(path: &Path, e: &io::Error) -> TargetError {
    TargetError::Io { path: path.to_path_buf(), kind: e.kind(), errno: e.raw_os_error() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Read as _, path::PathBuf};

    #[test]
    fn files_without_end_are_not_opened() {
        for path in ["/dev/zero", "/proc/self/fd", "/"] {
            let path = PathBuf::from(path);
            assert_eq!(open_file(&path).unwrap_err(), TargetError::NotAFile { path });
        }
        // `/proc/kmsg` needs a privilege, `/proc/version` does not.
        for path in
            ["/proc/kmsg", "/proc/version", "/sys/kernel/tracing/trace_pipe", "/sys/fs/cgroup/cgroup.procs"]
        {
            let path = PathBuf::from(path);
            if path.exists() {
                assert_eq!(open_file(&path).unwrap_err(), TargetError::PseudoFile { path });
            }
        }
    }

    #[test]
    fn a_pipe_without_a_writer_does_not_wait() {
        let pipe = std::env::temp_dir().join(format!("core-relo-open-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|status| status.success()) {
            let refused = open_file(&pipe).unwrap_err();
            std::fs::remove_file(&pipe).unwrap();
            assert_eq!(refused, TargetError::NotAFile { path: pipe });
        }
    }

    #[test]
    fn files_with_a_length_are_opened_on_any_file_system() {
        let empty = std::env::temp_dir().join(format!("core-relo-empty-{}", std::process::id()));
        std::fs::write(&empty, "").unwrap();
        let opened = open_file(&empty);
        std::fs::remove_file(&empty).unwrap();
        assert_eq!(opened.unwrap().1.len(), 0);
        for path in ["/sys/kernel/btf/vmlinux", "/proc/config.gz"] {
            let path = Path::new(path);
            if path.exists() {
                let (mut file, meta) = open_file(path).unwrap();
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                assert_eq!(u64::try_from(bytes.len()).unwrap(), meta.len());
            }
        }
    }
}
