//! The files of modules (`.ko`), with those that they depend on: for guests that load modules.
//!
//! A fetch keeps the BTF of all modules. The files themselves take hundreds of MiB, so only those that
//! somebody asks for are kept, unpacked, in the kernel's directory `ko`. For them, the packages are
//! downloaded again.

use super::{
    available::is_file_name,
    error::FetchError,
    fetcher::Fetcher,
    kernel_files::{self, visit_kernel_files},
    store::{StoredKernel, write_file},
};
use crate::{
    btf_file,
    elf_sections::Sections,
    limits::{MAX_KERNEL_FILE_BYTES, MAX_MODINFO_BYTES, MAX_MODULE_FILES},
    package::{KernelFileKind, PackageFile},
};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// The files of modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleFiles {
    /// The files, each after those that it depends on.
    pub files: Vec<PathBuf>,
    /// The modules whose files are not in the store.
    pub missing: BTreeSet<String>,
}

impl StoredKernel {
    /// Returns the stored files of modules and of those that they depend on. Names may have `-` or `_`.
    pub fn module_files(
        &self,
        names: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<ModuleFiles, FetchError> {
        find_modules(names, &[&self.module_dir()])
    }

    fn module_dir(&self) -> PathBuf {
        self.dir.join("ko")
    }
}

impl Fetcher<'_> {
    /// Returns the files of modules and of those that they depend on. Downloads the packages of the kernel if
    /// files are not in the store. Names may have `-` or `_`.
    pub fn fetch_modules(&self, kernel: &StoredKernel, names: &[String]) -> Result<ModuleFiles, FetchError> {
        let stored = kernel.module_files(names)?;
        if stored.missing.is_empty() {
            return Ok(stored);
        }
        let available = &kernel.manifest.kernel;
        let _user = self.store.enter()?;
        let _lock = self.store.lock_kernel(available, self.progress)?;
        let stored = kernel.module_files(names)?;
        if stored.missing.is_empty() {
            return Ok(stored);
        }
        // The dependencies of a module are known when it has been read, and they may precede it.
        let staged = self.store.temporary_dir()?;
        for package in available.fetched_packages() {
            self.read_package(available, package, &mut |stream, _bytes| {
                visit_kernel_files(available, package, stream, &mut |kind, file| {
                    match kernel_files::module_name(&file.path) {
                        Some(name) if kind == KernelFileKind::Module => {
                            stage_module(staged.path(), &name, file)
                        }
                        _ => Ok(()),
                    }
                })
            })?;
        }
        let dir = kernel.module_dir();
        fs::create_dir_all(&dir).map_err(|error| FetchError::store(&dir, &error))?;
        let found = find_modules(names, &[&dir, staged.path()])?;
        for file in found.files.iter().filter(|file| file.starts_with(staged.path())) {
            let target = dir.join(file.file_name().unwrap_or(file.as_os_str()));
            fs::rename(file, &target).map_err(|error| FetchError::store(target, &error))?;
        }
        if found.missing.is_empty() {
            return kernel.module_files(names);
        }
        Err(FetchError::NoModules { name: available.name(), modules: found.missing.into_iter().collect() })
    }
}

/// Finds modules and those that they depend on, in directories.
fn find_modules(
    names: impl IntoIterator<Item = impl AsRef<str>>,
    dirs: &[&Path],
) -> Result<ModuleFiles, FetchError> {
    let mut found = ModuleFiles::default();
    let mut known = BTreeSet::new();
    let mut waiting: Vec<_> = names.into_iter().map(|name| Step::Find(module_name(name.as_ref()))).collect();
    while let Some(step) = waiting.pop() {
        let name = match step {
            Step::Add(file) => {
                found.files.push(file);
                continue;
            }
            Step::Find(name) => name,
        };
        if !known.insert(name.clone()) {
            continue;
        }
        let file = if known.len() > MAX_MODULE_FILES { None } else { find_file(&name, dirs)? };
        match file {
            Some((path, module)) => {
                waiting.push(Step::Add(path));
                waiting.extend(dependencies(&module).into_iter().map(Step::Find));
            }
            None => {
                found.missing.insert(name);
            }
        }
    }
    Ok(found)
}

/// A step of the search for modules. A file is added after the dependencies of its module.
enum Step {
    Find(String),
    Add(PathBuf),
}

/// Returns the file of a module and its content, from the first directory that has it.
fn find_file(name: &str, dirs: &[&Path]) -> Result<Option<(PathBuf, Vec<u8>)>, FetchError> {
    if !is_file_name(name) {
        return Ok(None);
    }
    for dir in dirs {
        let path = dir.join(format!("{name}.ko"));
        match fs::read(&path) {
            Ok(module) => return Ok(Some((path, module))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(FetchError::store(path, &error)),
        }
    }
    Ok(None)
}

/// Writes a module to a directory, unpacked. A damaged one is left out, and a further one of the same name.
fn stage_module(dir: &Path, name: &str, file: PackageFile<'_>) -> Result<(), FetchError> {
    let target = dir.join(format!("{name}.ko"));
    if target.exists() {
        return Ok(());
    }
    let path = file.name().to_path_buf();
    let read = file.read_with_budget(MAX_KERNEL_FILE_BYTES);
    match read.and_then(|(bytes, budget)| btf_file::unpack_whole(&path, bytes, &budget)) {
        Ok(module) => write_file(&target, &module),
        Err(error) => {
            log::warn!("a module is left out: {error}");
            Ok(())
        }
    }
}

/// Returns the modules that a module depends on: `depends=` in its section `.modinfo`.
fn dependencies(module: &[u8]) -> Vec<String> {
    let modinfo = || {
        let section = Sections::read(&module)?.find_data(b".modinfo", MAX_MODINFO_BYTES)??;
        let end = usize::try_from(section.offset.checked_add(section.len)?).ok()?;
        module.get(usize::try_from(section.offset).ok()?..end)
    };
    let entries = modinfo().into_iter().flat_map(|modinfo| modinfo.split(|byte| *byte == 0));
    let lists = entries.filter_map(|entry| std::str::from_utf8(entry.strip_prefix(b"depends=")?).ok());
    let names = lists.flat_map(|list| list.split(',')).filter(|name| is_file_name(name));
    names.map(module_name).collect()
}

/// Returns the name of a module as the kernel prints it.
fn module_name(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::fetch::store::test_kernel;

    /// Creates an ELF with a section `.modinfo`.
    fn module(depends: &str) -> Vec<u8> {
        let modinfo = format!("license=GPL\0depends={depends}\0name=x\0");
        let names = b"\0.modinfo\0.shstrtab\0";
        let mut elf = vec![0u8; 64];
        elf.splice(0..7, *b"\x7fELF\x02\x01\x01");
        let modinfo_offset = elf.len();
        elf.extend_from_slice(modinfo.as_bytes());
        let names_offset = elf.len();
        elf.extend_from_slice(names);
        let table_offset = elf.len();
        for (name, kind, offset, len) in
            [(0u32, 0u32, 0, 0), (1, 1, modinfo_offset, modinfo.len()), (10, 3, names_offset, names.len())]
        {
            let mut header = vec![0u8; 64];
            header.splice(0..4, name.to_le_bytes());
            header.splice(4..8, kind.to_le_bytes());
            header.splice(24..32, (offset as u64).to_le_bytes());
            header.splice(32..40, (len as u64).to_le_bytes());
            elf.extend_from_slice(&header);
        }
        elf.splice(0x28..0x30, (table_offset as u64).to_le_bytes());
        elf.splice(0x3a..0x40, [64, 0, 3, 0, 2, 0]);
        elf
    }

    #[test]
    fn modules_come_after_those_that_they_depend_on() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = test_kernel(dir.path());
        fs::create_dir_all(kernel.module_dir()).unwrap();
        for (name, depends) in [
            ("nf_conntrack", "nf_defrag_ipv6,nf-defrag-ipv4"),
            ("nf_defrag_ipv6", ""),
            ("nf_defrag_ipv4", ""),
            ("nf_nat", "nf_conntrack,libcrc32c"),
            ("a", "b"),
            ("b", "a"),
        ] {
            fs::write(kernel.module_dir().join(format!("{name}.ko")), module(depends)).unwrap();
        }
        let files = |names: &[&str]| {
            let ModuleFiles { files, missing } = kernel.module_files(names).unwrap();
            let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
            (files.into_iter().map(stem).collect::<Vec<_>>(), missing.into_iter().collect::<Vec<_>>())
        };
        let (order, missing) = files(&["nf_nat"]);
        assert_eq!(order, ["nf_defrag_ipv4", "nf_defrag_ipv6", "nf_conntrack", "nf_nat"]);
        assert_eq!(missing, ["libcrc32c"]);
        // Modules that name each other end, too.
        assert_eq!(files(&["a"]).0.len(), 2);
        assert_eq!(dependencies(b"no module"), Vec::<String>::new());
    }
}
