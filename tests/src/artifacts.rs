//! Paths of the compiled test programs and of kernel BTF.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Returns the directory of the compiled test programs: `CORE_RELO_PROGS`, or the output of
/// `cargo xtask progs`, or the prebuilt objects.
pub fn progs() -> PathBuf {
    let built = root().join("target/bpf-progs");
    match env::var_os("CORE_RELO_PROGS") {
        Some(path) => path.into(),
        None if built.is_dir() => built,
        None => root().join("bpf-progs/prebuilt"),
    }
}

/// Returns the directory of kernel BTF: `CORE_RELO_KERNELS`, or the output of `cargo xtask kernels`.
pub fn kernels() -> PathBuf {
    env::var_os("CORE_RELO_KERNELS").map_or_else(|| root().join("target/kernels/btf"), PathBuf::from)
}

/// Returns all files below `dir` whose name ends with `ending`, sorted by path.
pub fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    gather(dir, ending, &mut found);
    found.sort();
    found
}

fn gather(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, ending, found);
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending)) {
            found.push(path);
        }
    }
}

/// Returns all compiled test programs.
pub fn objects() -> Vec<PathBuf> {
    files(&progs(), ".bpf.o")
}

/// Returns the target objects of a test program: for `case.bpf.o`, the files `case.*.o` in the same
/// directory.
pub fn targets_of(object: &Path) -> Vec<PathBuf> {
    let name = object.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((case, dir)) = name.strip_suffix(".bpf.o").zip(object.parent()) else { return Vec::new() };
    let prefix = format!("{case}.");
    let is_target = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.parent() == Some(dir) && name.starts_with(&prefix) && !name.ends_with(".bpf.o")
    };
    files(dir, ".o").into_iter().filter(is_target).collect()
}

/// Returns the vmlinux BTF files, without those of modules.
pub fn kernel_btfs() -> Vec<PathBuf> {
    let in_modules = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "modules");
    files(&kernels(), ".btf").into_iter().filter(|path| !in_modules(path)).collect()
}

/// Returns the module BTF files of one of the [`kernel_btfs`].
pub fn module_btfs(kernel: &Path) -> Vec<PathBuf> {
    let name = kernel.file_stem().unwrap_or_default();
    files(&kernels().join("modules").join(name), ".btf")
}

/// Returns the path of the running kernel's BTF, if the kernel exposes it.
pub fn running_kernel() -> Option<PathBuf> {
    let path = PathBuf::from("/sys/kernel/btf/vmlinux");
    path.exists().then_some(path)
}
