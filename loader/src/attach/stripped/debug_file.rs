//! Debug files of a binary: found by its build id, or by the file name in its section `.gnu_debuglink`.

use super::{
    super::{binary::Binary, elf_file::SymbolTable, error::AttachError, file_range::FileRange},
    build_id::BuildId,
};
use crate::limits::DEBUG_FILE_BYTES;
use flate2::Crc;
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// The directory of all debug files.
const DEBUG_DIRECTORY: &str = "usr/lib/debug";

/// The section with the name and the checksum of the debug file.
const LINK_SECTION: &str = ".gnu_debuglink";

/// Opens the debug file of a binary. Returns `None` if there is none.
pub(super) fn open(binary: &Binary) -> Result<Option<Binary>, AttachError> {
    open_in(&Directories::of(binary), binary)
}

fn open_in(directories: &Directories, binary: &Binary) -> Result<Option<Binary>, AttachError> {
    let search = Search { binary, build_id: BuildId::of(binary)?, link: DebugLink::of(binary)? };
    // The first file that belongs to the binary. The error of another one counts if there is no such file.
    let mut first_error = None;
    for path in search.paths(directories).into_iter().filter(|path| path.exists()) {
        match search.open(&path) {
            Ok(Some(file)) => return Ok(Some(file)),
            Ok(None) => {}
            Err(e) => first_error = first_error.or(Some(e)),
        }
    }
    first_error.map_or(Ok(None), Err)
}

/// The search for the debug file of a binary.
struct Search<'b> {
    binary: &'b Binary,
    build_id: Option<BuildId>,
    link: Option<DebugLink>,
}

impl Search<'_> {
    /// Returns the paths that the debug file may have.
    fn paths(&self, directories: &Directories) -> Vec<PathBuf> {
        let by_id = self.build_id.as_ref().map(|id| directories.debug.join(id.debug_path()));
        let of_links = self
            .link
            .iter()
            .flat_map(|link| directories.of_links().into_iter().map(|directory| directory.join(&link.name)));
        by_id.into_iter().chain(of_links).collect()
    }

    /// Opens a debug file, and checks that it has symbols and belongs to the binary. Returns `None` for the
    /// binary itself, which may have the file name of its link.
    fn open(&self, path: &Path) -> Result<Option<Binary>, AttachError> {
        let file = Binary::open(path)?;
        if self.binary.range().is_same_file(file.range())? {
            return Ok(None);
        }
        if !self.matches(&file)? {
            return Err(file.error("is the debug file of another build"));
        }
        if !file.has_symbol_table(SymbolTable::Full) {
            return Err(file.error("has no symbol table, expected a debug file"));
        }
        Ok(Some(file))
    }

    /// Compares the build ids or, if one of the files has none, the checksum of the link.
    fn matches(&self, file: &Binary) -> Result<bool, AttachError> {
        match (&self.build_id, BuildId::of(file)?, &self.link) {
            (Some(expected), Some(found), _) => Ok(*expected == found),
            (_, _, Some(link)) => Ok(checksum(file.range())? == link.checksum),
            (_, _, None) => Ok(false),
        }
    }
}

fn checksum(range: &FileRange) -> Result<u32, AttachError> {
    const PART_BYTES: u64 = 1 << 20;
    let len = range.len();
    if len > DEBUG_FILE_BYTES {
        let problem =
            format!("is too large for its checksum: {len} bytes, expected at most {DEBUG_FILE_BYTES}");
        return Err(range.error(problem));
    }
    let mut checksum = Crc::new();
    let mut at = 0;
    while let Some(rest @ 1..) = len.checked_sub(at) {
        let part = range.read("content", at, rest.min(PART_BYTES), PART_BYTES)?;
        checksum.update(&part);
        at = at.saturating_add(PART_BYTES);
    }
    Ok(checksum.sum())
}

/// The content of the section `.gnu_debuglink`.
#[derive(Debug)]
struct DebugLink {
    /// A file name without a directory.
    name: PathBuf,
    /// The CRC-32 of the debug file.
    checksum: u32,
}

impl DebugLink {
    fn of(binary: &Binary) -> Result<Option<Self>, AttachError> {
        let Some(section) = binary.section(LINK_SECTION.as_bytes())? else { return Ok(None) };
        let data = section.data.as_slice();
        let damaged = || binary.error(format!("section {LINK_SECTION} is damaged"));
        let end = data.iter().position(|byte| *byte == 0).ok_or_else(damaged)?;
        let name = data.get(..end).ok_or_else(damaged)?;
        // The checksum is aligned to 4 bytes.
        let at =
            end.checked_add(1).and_then(|after| after.checked_next_multiple_of(4)).ok_or_else(damaged)?;
        let checksum = binary.kind().endian.u32(data, at).ok_or_else(damaged)?;
        if name.contains(&b'/') || matches!(name, b"" | b"." | b"..") {
            return Err(binary.error(format!(
                "section {LINK_SECTION} names `{}`, expected a file name without a directory",
                String::from_utf8_lossy(name)
            )));
        }
        let name = PathBuf::from(OsStr::from_bytes(name));
        Ok(Some(Self { name, checksum }))
    }
}

/// The directories in which the debug file of a binary may be.
struct Directories {
    /// The directory of all debug files, in the root directory of the process through which the binary is
    /// found.
    debug: PathBuf,
    /// The directory of the binary. `None` for a member of an archive, and if the directory is unknown.
    binary: Option<PathBuf>,
}

impl Directories {
    fn of(binary: &Binary) -> Self {
        let program = path_of_program(binary.range());
        let path = program.as_deref().unwrap_or_else(|| binary.range().path());
        let root = process_root(path);
        // In the root directory of another process, absolute links would lead out of that directory.
        let path = if root.is_some() { Some(path.to_path_buf()) } else { fs::canonicalize(path).ok() };
        let is_whole_file = binary.range().start() == 0;
        let directory = path.and_then(|path| path.parent().map(Path::to_path_buf));
        Self {
            debug: root.unwrap_or_else(|| PathBuf::from("/")).join(DEBUG_DIRECTORY),
            binary: directory.filter(|_| is_whole_file),
        }
    }

    /// Returns the directories in which the file of a link may be. For `/usr/bin`, the directory of the
    /// binary, they are `/usr/bin`, `/usr/bin/.debug` and `/usr/lib/debug/usr/bin`.
    fn of_links(&self) -> Vec<PathBuf> {
        let Some(directory) = &self.binary else { return Vec::new() };
        let root = process_root(directory).unwrap_or_else(|| PathBuf::from("/"));
        let mut directories = vec![directory.clone(), directory.join(".debug")];
        directories.extend(directory.strip_prefix(root).ok().map(|inside| self.debug.join(inside)));
        directories
    }
}

/// Returns the path of a binary below the root directory of a process, if the path is a link to what the
/// process runs: `/proc/PID/exe`, `/proc/PID/map_files/…`.
fn path_of_program(range: &FileRange) -> Option<PathBuf> {
    let mut components = range.path().strip_prefix("/proc").ok()?.components();
    let (process, link) = (components.next()?, components.next()?);
    let is_link = matches!(link.as_os_str().to_str(), Some("exe" | "map_files"));
    let opened = range.kernel_path().filter(|_| is_link)?;
    let root = Path::new("/proc").join(process).join("root");
    // The root of another mount namespace is shown as `/`, and paths begin there.
    let inside = opened.strip_prefix(fs::read_link(&root).ok()?).ok()?;
    Some(root.join(inside)).filter(|path| path.exists())
}

/// Returns the part `/proc/PID/root` of a path, if the path begins so.
fn process_root(path: &Path) -> Option<PathBuf> {
    let inside = path.strip_prefix("/proc").ok()?;
    let mut components = inside.components();
    let (process, root) = (components.next()?, components.next()?);
    (root.as_os_str() == "root").then(|| Path::new("/proc").join(process).join(root))
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            binary::EntryPoint,
            elf_file::SymbolFilter,
            test_support::elf::{F1, TempFile, TestElf, TestSection, TestSymbol},
        },
        *,
    };
    use core_relo::Endian;

    /// Returns a debug file with the function `hidden`.
    fn debug_file(sections: &[TestSection<'_>]) -> Vec<u8> {
        TestElf::with_sections(&[TestSymbol { name: "hidden", offset: F1, info: 2, section: 1 }], sections)
    }

    fn link(name: &str, checksum: u32) -> Vec<u8> {
        let mut data = [name.as_bytes(), b"\0"].concat();
        data.resize(data.len().next_multiple_of(4), 0);
        Endian::Little.put_u32(&mut data, checksum);
        data
    }

    fn link_section(data: &[u8]) -> TestSection<'_> {
        TestSection { name: LINK_SECTION, address: 0, bytes: data }
    }

    fn build_id(id: u8) -> Vec<u8> {
        let mut note = Vec::new();
        for field in [4, 20, 3] {
            Endian::Little.put_u32(&mut note, field);
        }
        note.extend(b"GNU\0");
        note.extend([id; 20]);
        note
    }

    fn build_id_section(note: &[u8]) -> TestSection<'_> {
        TestSection { name: ".note.gnu.build-id", address: 0, bytes: note }
    }

    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = Crc::new();
        crc.update(bytes);
        crc.sum()
    }

    /// A directory that is removed when it is dropped.
    struct TempDir(PathBuf);

    impl TempDir {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("core-relo-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            path
        }
    }

    impl Drop for TempDir {
        fn drop(&mut self) {
            let _removed = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_file_of_the_link_is_found_in_each_directory() {
        let dir = TempDir::new("link");
        let debug = debug_file(&[]);
        let data = link("x.debug", crc(&debug));
        let path = dir.write("lib/x", &TestElf::with_sections(&[], &[link_section(&data)]));
        let find = || Binary::open(&path).unwrap().find_function("hidden", EntryPoint::Local);
        let error = find().unwrap_err().to_string();
        assert!(error.contains("has no function `hidden`"), "{error}");
        for place in ["lib/x.debug", "lib/.debug/x.debug"] {
            let file = dir.write(place, &debug);
            assert_eq!(find(), Ok(F1), "{place}");
            fs::remove_file(file).unwrap();
        }
        let inside = dir.0.strip_prefix("/").unwrap();
        let all = Directories { debug: dir.0.join("debug"), binary: Some(dir.0.join("lib")) };
        dir.write(Path::new("debug").join(inside).join("lib/x.debug"), &debug);
        assert!(open_in(&all, &Binary::open(&path).unwrap()).unwrap().is_some());
        // A file of another build is named, unless the right file is elsewhere.
        let file = dir.write("lib/x.debug", &TestElf::bytes());
        let error = find().unwrap_err().to_string();
        let expected = format!("{}: is the debug file of another build", file.display());
        assert!(error.ends_with(&expected), "{error}");
        dir.write("lib/.debug/x.debug", &debug);
        assert_eq!(find(), Ok(F1));
    }

    #[test]
    fn the_file_of_the_build_id_is_found_in_the_directory_of_debug_files() {
        let dir = TempDir::new("build-id");
        let (note, other) = (build_id(0xab), build_id(0xcd));
        let path = dir.write("x", &TestElf::with_sections(&[], &[build_id_section(&note)]));
        let binary = Binary::open(&path).unwrap();
        let directories = Directories { debug: dir.0.join("debug"), binary: None };
        assert!(open_in(&directories, &binary).unwrap().is_none());
        let place = format!("debug/.build-id/ab/{}.debug", "ab".repeat(19));
        dir.write(&place, &debug_file(&[build_id_section(&note)]));
        let file = open_in(&directories, &binary).unwrap().unwrap();
        let mut names = Vec::new();
        let each = &mut |symbol: &super::super::Symbol<'_>| {
            names.push(String::from_utf8_lossy(symbol.name).into_owned());
            Ok(())
        };
        file.symbols(SymbolTable::Full, SymbolFilter::Functions, each).unwrap();
        assert_eq!(names, ["entry", "f1", "hidden"]);
        for wrong in [debug_file(&[build_id_section(&other)]), debug_file(&[])] {
            dir.write(&place, &wrong);
            let error = open_in(&directories, &binary).unwrap_err().to_string();
            assert!(error.ends_with("is the debug file of another build"), "{error}");
        }
        // The file of the link counts then.
        let debug = debug_file(&[build_id_section(&note)]);
        let data = link("x.debug", crc(&debug));
        let sections = [build_id_section(&note), link_section(&data)];
        let path = dir.write("lib/x", &TestElf::with_sections(&[], &sections));
        dir.write("lib/x.debug", &debug);
        let directories = Directories { binary: Some(dir.0.join("lib")), ..directories };
        assert!(open_in(&directories, &Binary::open(&path).unwrap()).unwrap().is_some());
    }

    #[test]
    fn neither_the_binary_nor_a_stripped_copy_is_the_debug_file() {
        let dir = TempDir::new("own-name");
        let note = build_id(0xab);
        let debug = debug_file(&[build_id_section(&note)]);
        let data = link("x", crc(&debug));
        let stripped = TestElf::stripped(&[build_id_section(&note), link_section(&data)]);
        // `x` and `.debug/x`, as `objcopy --add-gnu-debuglink=.debug/x x` leaves them.
        let path = dir.write("lib/x", &stripped);
        let find = || {
            let binary = Binary::open(&path).unwrap();
            binary.find_function("hidden", EntryPoint::Local).map_err(|e| e.to_string())
        };
        let missing = find().unwrap_err();
        assert!(!missing.contains("debug file"), "{missing}");
        dir.write("lib/.debug/x", &debug);
        assert_eq!(find(), Ok(F1));
        let other = Binary::open(&path).unwrap().find_function("xyz", EntryPoint::Local).unwrap_err();
        let expected =
            "has no function `xyz` in its symbol tables, or in its debug file: a function without a symbol";
        assert!(other.to_string().contains(expected), "{other}");
        // A copy of the binary in the place of the debug file is named, unless the debug file is elsewhere.
        let copy = dir.write("lib/.debug/x", &stripped);
        let error = find().unwrap_err();
        let expected = format!("{}: has no symbol table, expected a debug file", copy.display());
        assert!(error.ends_with(&expected), "{error}");
        let inside = dir.0.strip_prefix("/").unwrap().join("lib/x");
        dir.write(Path::new("debug").join(inside), &debug);
        let all = Directories { debug: dir.0.join("debug"), binary: Some(dir.0.join("lib")) };
        assert!(open_in(&all, &Binary::open(&path).unwrap()).unwrap().is_some());
    }

    #[test]
    fn a_link_that_names_a_directory_or_is_damaged_is_refused() {
        for name in ["../x.debug", "/etc/passwd", "a/b", "..", ".", "", "x/"] {
            let data = link(name, 0);
            let file = TempFile::new("link", &TestElf::with_sections(&[], &[link_section(&data)]));
            let error = Binary::open(file.path()).unwrap().find_function("hidden", EntryPoint::Local);
            let error = error.unwrap_err().to_string();
            assert!(
                error.contains(&format!("names `{name}`, expected a file name without a directory")),
                "{error}"
            );
        }
        for data in [&b""[..], b"x.debug", b"x\0\0\0\x01\x02"] {
            let file = TempFile::new("link", &TestElf::with_sections(&[], &[link_section(data)]));
            let error = Binary::open(file.path()).unwrap().find_function("hidden", EntryPoint::Local);
            let error = error.unwrap_err().to_string();
            assert!(error.ends_with("section .gnu_debuglink is damaged"), "{error}");
        }
    }

    #[test]
    fn a_binary_of_another_root_directory_has_its_debug_files_there() {
        let root = |path: &str| process_root(Path::new(path));
        assert_eq!(root("/proc/7/root/usr/lib/x.so"), Some(PathBuf::from("/proc/7/root")));
        assert_eq!(root("/proc/self/exe"), None);
        assert_eq!(root("/usr/lib/x.so"), None);
        let pid = std::process::id();
        let program = Binary::open(Path::new(&format!("/proc/{pid}/exe"))).unwrap();
        let path = path_of_program(program.range()).unwrap();
        assert!(path.starts_with(format!("/proc/{pid}/root")), "{}", path.display());
        assert_eq!(fs::canonicalize(path).unwrap(), std::env::current_exe().unwrap());
        let path = PathBuf::from("/proc/7/root/usr/lib");
        let all = Directories { debug: PathBuf::from("/proc/7/root/usr/lib/debug"), binary: Some(path) };
        let last = all.of_links().pop().unwrap();
        assert_eq!(last, Path::new("/proc/7/root/usr/lib/debug/usr/lib"));
    }
}
