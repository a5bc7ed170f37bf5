//! Kernels in packages, made by the formats' own tools.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

use core_relo::{
    Endian, Name,
    btf::{Btf, Builder},
};
use core_relo_kernels::{
    Defect, InputError, Kernel, KernelPaths, KernelSelection, Limits, Note, WantedFacts, unpack_image,
};
use core_relo_test_support::skip;
use core_relo_verdict::{fleet::JudgedKernel as _, kernel::KernelInputs};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const RELEASE: &str = "6.1.0-9-amd64";
const CONFIG: &str = "CONFIG_HZ=250\nCONFIG_BPF_SYSCALL=y\n";
const SYMBOLS: &str = "ffffffff81000000 T _text\n";

/// A file of a package: its path and its content.
type File = (String, Vec<u8>);

/// Returns the BTF of a kernel with a struct.
fn vmlinux_btf() -> Vec<u8> {
    let mut types = Builder::new(Endian::Little);
    let int = types.int("int", 4, 1);
    types.structure("task_struct", 4, &[("pid", int, 0)]);
    types.finish()
}

/// Returns the BTF of a module with a struct.
fn module_btf(name: &str) -> Vec<u8> {
    let base = Btf::parse(vmlinux_btf()).unwrap();
    let mut types = Builder::split(&base);
    types.structure(name, 4, &[]);
    types.finish()
}

fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> File {
    (path.into(), content.into())
}

fn image() -> File {
    file(format!("boot/vmlinuz-{RELEASE}"), vmlinux_btf())
}

fn texts() -> [File; 2] {
    [file(format!("boot/config-{RELEASE}"), CONFIG), file(format!("boot/System.map-{RELEASE}"), SYMBOLS)]
}

fn module(name: &str) -> File {
    file(format!("lib/modules/{RELEASE}/kernel/net/{name}.ko"), module_btf(name))
}

fn write_files(root: &Path, files: &[File]) {
    for (path, content) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a `.deb` in a directory. Returns `None` without `dpkg-deb`.
fn deb(dir: &Path, name: &str, compression: &str, files: &[File]) -> Option<PathBuf> {
    deb_of_version(dir, name, "6.1.1-1", compression, files)
}

/// Makes a `.deb` of a version, as [`deb`].
fn deb_of_version(
    dir: &Path,
    name: &str,
    version: &str,
    compression: &str,
    files: &[File],
) -> Option<PathBuf> {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        skip!(Dpkg, "dpkg-deb is not installed");
        return None;
    }
    let root = dir.join(format!("{name}.root"));
    let control = format!(
        "Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: a <a@b>\nDepends: kmod\nDescription: a\n"
    );
    write_files(&root, files);
    write_files(&root, &[file("DEBIAN/control", control)]);
    let package = dir.join(format!("{name}_{version}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Z", compression, "--build"]).arg(&root).arg(&package);
    assert_success(&build.output().unwrap());
    fs::remove_dir_all(root).unwrap();
    Some(package)
}

/// Makes an rpm in a directory. Returns `None` without `rpmbuild`.
fn rpm(dir: &Path, name: &str, payload: &str, files: &[File]) -> Option<PathBuf> {
    if Command::new("rpmbuild").arg("--version").output().is_err() {
        skip!(Rpmbuild, "rpmbuild is not installed");
        return None;
    }
    let (root, top) = (dir.join(format!("{name}.root")), dir.join(format!("{name}.top")));
    write_files(&root, files);
    let list: String = files.iter().map(|(path, _)| format!("/{path}\n")).collect();
    let spec = format!(
        "Name: {name}\nVersion: 6.1.0\nRelease: 9\nSummary: a\nLicense: GPL\nBuildArch: x86_64\nAutoReqProv: no\n\
         %define __os_install_post %{{nil}}\n%define debug_package %{{nil}}\n%description\na\n\
         %install\nmkdir -p %{{buildroot}}\ncp -a {}/. %{{buildroot}}\n%files\n{list}",
        root.display()
    );
    let spec_file = dir.join(format!("{name}.spec"));
    fs::write(&spec_file, spec).unwrap();
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--target", "x86_64", "--define", &format!("_topdir {}", top.display())]);
    build.args(["--define", &format!("_binary_payload {payload}")]).arg(&spec_file);
    assert_success(&build.output().unwrap());
    let package = dir.join(format!("{name}.rpm"));
    fs::rename(top.join(format!("RPMS/x86_64/{name}-6.1.0-9.x86_64.rpm")), &package).unwrap();
    for rest in [root, top] {
        fs::remove_dir_all(rest).unwrap();
    }
    fs::remove_file(spec_file).unwrap();
    Some(package)
}

fn all_facts() -> WantedFacts {
    WantedFacts { version_and_kconfig: true, symbols: true, ..WantedFacts::default() }
}

fn select(paths: &[PathBuf]) -> KernelSelection {
    KernelSelection::new(&KernelPaths::new(paths))
}

fn read(selection: &KernelSelection) -> Vec<Result<Kernel, InputError>> {
    let mut kernels = Vec::new();
    selection.visit_kernels(all_facts(), &mut |_, kernel| {
        kernels.push(kernel);
        ControlFlow::Continue(())
    });
    kernels
}

/// Reads packages that are one kernel.
fn read_one(paths: &[PathBuf]) -> Result<Kernel, InputError> {
    let mut kernels = read(&select(paths));
    assert_eq!(kernels.len(), 1, "{paths:?}");
    kernels.remove(0)
}

fn assert_has_facts(kernel: &Kernel, context: &str) {
    assert!(
        kernel.target.vmlinux().btf.types().any(|ty| ty.name().as_bytes() == b"task_struct"),
        "{context}"
    );
    let inputs = kernel.inputs(&KernelInputs::default(), all_facts());
    assert_eq!(inputs.kconfig.as_deref(), Some(CONFIG), "{context}");
    assert_eq!(inputs.kallsyms.as_deref(), Some(SYMBOLS), "{context}");
}

/// Returns the names of the modules that are added for a type.
fn modules_for(kernel: &Kernel, type_name: &str) -> Vec<String> {
    let with_modules = kernel.with_modules_for(&mut [Name::new(type_name.as_bytes())].into_iter());
    let modules = with_modules.iter().flat_map(|kernel| kernel.target.modules());
    modules.map(|module| module.name.to_string()).collect()
}

#[test]
fn deb_packages_are_kernels_with_facts_and_modules() {
    let dir = tempfile::tempdir().unwrap();
    let files = [&[image()][..], &texts(), &[module("veth"), module("nf_tables")]].concat();
    for compression in ["none", "gzip", "xz", "zstd"] {
        let Some(package) = deb(dir.path(), "linux-image-6.1.0-9-amd64", compression, &files) else { return };
        let kernel = read_one(&[package]).unwrap();
        assert_has_facts(&kernel, compression);
        assert_eq!(modules_for(&kernel, "veth"), ["veth"], "{compression}");
    }
}

/// The image comes first in a package, so that a package that is cut off later has a whole kernel, but not
/// all modules.
#[test]
fn a_package_that_is_cut_off_after_the_image_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let files = [&[image()][..], &texts(), &[module("veth")]].concat();
    let Some(package) = deb(dir.path(), "linux-image-6.1.0-9-amd64", "xz", &files) else { return };
    let whole = fs::read(&package).unwrap();
    let cut = whole.len() - 16;
    fs::write(&package, &whole[..cut]).unwrap();
    let Err(error) = read_one(&[package]) else { panic!("no error") };
    assert!(error.to_string().contains(&format!("truncated at byte {cut}")), "{error}");
}

#[test]
fn rpm_packages_are_kernels_with_facts_and_modules() {
    let dir = tempfile::tempdir().unwrap();
    let tree = "usr/lib/modules/6.1.0-9.x86_64";
    let files = [
        file(format!("{tree}/config"), CONFIG),
        file(format!("{tree}/System.map"), SYMBOLS),
        file(format!("{tree}/vmlinuz"), vmlinux_btf()),
        file(format!("{tree}/kernel/net/veth.ko"), module_btf("veth")),
    ];
    for payload in ["w.ufdio", "w9.gzdio", "w6.xzdio", "w6.lzdio", "w9.bzdio", "w3.zstdio"] {
        let Some(package) = rpm(dir.path(), "kernel-core", payload, &files) else { return };
        let kernel = read_one(&[package]).unwrap();
        assert_has_facts(&kernel, payload);
        assert_eq!(modules_for(&kernel, "veth"), ["veth"], "{payload}");
    }
}

/// Ubuntu has the image in one package, the configuration and modules in another.
#[test]
fn packages_of_a_release_are_one_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let modules = [&texts()[..], &[module("veth")]].concat();
    let Some(image) = deb(dir.path(), "linux-image-6.1.0-9-amd64", "xz", &[image()]) else { return };
    let modules = deb(dir.path(), "linux-modules-6.1.0-9-amd64", "xz", &modules).unwrap();
    let other = file("boot/vmlinuz-5.10.0-1-amd64", vmlinux_btf());
    let other = deb(dir.path(), "linux-image-5.10.0-1-amd64", "xz", &[other]).unwrap();
    let headers = file("usr/src/linux-headers-6.1.0-9-amd64/Makefile", "a");
    let headers = deb(dir.path(), "linux-headers-6.1.0-9-amd64", "xz", &[headers]).unwrap();
    for paths in [[image.clone(), modules.clone()], [modules.clone(), image.clone()]] {
        let kernel = read_one(&paths).unwrap();
        assert_has_facts(&kernel, "two packages");
        assert_eq!(modules_for(&kernel, "veth"), ["veth"]);
    }
    let named = read(&select(&[image.clone(), other, modules.clone()]));
    assert_eq!(named.iter().filter(|kernel| kernel.is_ok()).count(), 2);
    let listed = select(&[dir.path().to_path_buf()]);
    assert_eq!(read(&listed).iter().filter(|kernel| kernel.is_ok()).count(), 2);
    assert!(
        matches!(&*listed.notes, [Note::Packages(skipped)] if skipped.count == 1 && skipped.first == headers),
        "{:?}",
        listed.notes
    );
    // As modules of the kernel, all are added.
    let mut paths = KernelPaths::new([image]);
    paths.modules.push(modules);
    let with_modules = read(&KernelSelection::new(&paths)).remove(0).unwrap();
    assert_eq!(with_modules.target.modules().len(), 1);
}

/// The image of a debug package has hundreds of megabytes.
#[test]
fn packages_with_debug_information_are_read_last() {
    let dir = tempfile::tempdir().unwrap();
    let debug = file(format!("usr/lib/debug/boot/vmlinux-{RELEASE}"), "not a kernel");
    let Some(debug) = deb(dir.path(), "linux-image-6.1.0-9-amd64-dbg", "none", &[debug]) else { return };
    let image = [&[image()][..], &texts()].concat();
    let image = deb(dir.path(), "linux-image-6.1.0-9-amd64", "none", &image).unwrap();
    let kernel = read_one(&[debug, image.clone()]).unwrap();
    assert_has_facts(&kernel, "image and debug package");
    assert_eq!(kernel.name, image.display().to_string());
}

/// A distribution may rebuild a kernel without a new release.
#[test]
fn builds_of_a_release_are_several_kernels() {
    let dir = tempfile::tempdir().unwrap();
    let build = |version| deb_of_version(dir.path(), "linux-image-6.1.0-9-amd64", version, "xz", &[image()]);
    let (Some(_), Some(_)) = (build("6.1.1-1"), build("6.1.2-1")) else { return };
    assert_eq!(read(&select(&[dir.path().to_path_buf()])).len(), 2);
}

#[test]
fn packages_without_a_kernel_name_the_one_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let Some(modules) = deb(dir.path(), "linux-modules-6.8.0-31-generic", "xz", &[module("veth")]) else {
        return;
    };
    let expected = Defect::PackageWithoutKernel {
        packages: vec!["linux-modules-6.8.0-31-generic".to_owned()],
        file_count: 1,
        module_count: 1,
        kernel_package: Some("linux-image-6.8.0-31-generic".to_owned()),
    };
    assert_eq!(read_one(std::slice::from_ref(&modules)).unwrap_err().defect, expected);
    let unpacked = unpack_image(&modules, dir.path(), Limits::default());
    assert!(matches!(unpacked.unwrap_err().defect, Defect::PackageWithoutKernel { .. }));
}

/// An ELF file without sections has no BTF.
#[test]
fn kernels_without_btf_name_the_package_with_debug_information() {
    let dir = tempfile::tempdir().unwrap();
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(64, 0);
    elf[16] = 2;
    elf[18] = 62;
    elf[52] = 64;
    let image = file(format!("boot/vmlinuz-{RELEASE}"), elf);
    let Some(package) = deb(dir.path(), "linux-image-6.1.0-9-amd64", "xz", &[image]) else { return };
    let error = read_one(&[package]).unwrap_err();
    let debug_package = Some("linux-image-6.1.0-9-amd64-dbg".to_owned());
    assert_eq!(error.defect, Defect::PackagedKernelWithoutBtf { debug_package }, "{error}");
    assert!(error.to_string().contains(".deb//boot/vmlinuz-6.1.0-9-amd64: "), "{error}");
}

#[test]
fn the_image_of_a_package_is_unpacked_with_its_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let files = [&[image()][..], &texts()].concat();
    let Some(package) = deb(dir.path(), "linux-image-6.1.0-9-amd64", "zstd", &files) else { return };
    let unpack = |path: &Path| unpack_image(path, dir.path(), Limits::default()).unwrap();
    let image = unpack(&package).unwrap();
    assert_eq!(fs::read(&image).unwrap(), vmlinux_btf());
    assert_eq!(fs::read_to_string(image.with_file_name("config")).unwrap(), CONFIG);
    assert_eq!(unpack(&image), None, "no package");
}
