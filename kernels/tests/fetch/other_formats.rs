//! Repositories of apk and pacman. They are made here in their formats, for machines without the tools.

use super::{
    Machine, defect, file_address, kernel_btf, module_btf, names_in, releases,
    server::{Fault, Server},
};
use core_relo_kernels::fetch::{
    FetchError, FetchOptions, Fetcher, KernelSpec, MirrorDefect, NoProgress, Protection,
};
use core_relo_test_support::{skip, this_test};
use flate2::{Compression, write::GzEncoder};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

/// The zeros at the end of a tar archive, in bytes. The parts of an apk package but the last lack them.
const TAR_END_BYTES: usize = 1024;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(content.len()).unwrap());
        header.set_mode(0o644);
        archive.append_data(&mut header, path, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Returns a part of an apk file: a tar archive without its end, compressed.
fn apk_part(files: &[(&str, &[u8])]) -> Vec<u8> {
    let archive = tar(files);
    gzip(&archive[..archive.len() - TAR_END_BYTES])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(*chunk.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let is_used = at <= chunk.len();
            text.push(if is_used { char::from(DIGITS[bits >> (18 - 6 * at) & 63]) } else { '=' });
        }
    }
    text
}

/// Returns the files of a kernel: its image and a module.
fn kernel_files<'f>(image: &'f str, module: &'f str, btf: &'f [Vec<u8>; 2]) -> [(&'f str, &'f [u8]); 2] {
    [(image, &btf[0]), (module, &btf[1])]
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A repository of Alpine 3.20 with the kernels lts and virt.
struct AlpineRepository {
    dir: tempfile::TempDir,
}

impl AlpineRepository {
    fn new() -> Self {
        let repository = Self { dir: tempfile::tempdir().unwrap() };
        let btf = [kernel_btf(), module_btf()];
        let mut index = String::new();
        for flavour in ["lts", "virt"] {
            let (image, module) = (
                format!("boot/vmlinuz-{flavour}"),
                format!("lib/modules/6.6.100-0-{flavour}/kernel/fs/xfs/xfs.ko"),
            );
            let files = gzip(&tar(&kernel_files(&image, &module, &btf)));
            let info = format!(
                "pkgname = linux-{flavour}\npkgver = 6.6.100-r0\narch = x86_64\ndatahash = {}\n",
                hex(&Sha256::digest(&files))
            );
            let control = apk_part(&[(".PKGINFO", info.as_bytes())]);
            let signature = apk_part(&[(".SIGN.RSA.test.rsa.pub", b"not verified: the index is")]);
            let package = [&signature[..], &control, &files].concat();
            write(&repository.path(&format!("linux-{flavour}-6.6.100-r0.apk")), &package);
            let hash = base64(&Sha1::digest(&control));
            index += &format!(
                "C:Q1{hash}\nP:linux-{flavour}\nV:6.6.100-r0\nA:x86_64\nS:{}\nI:1000\np:linux-any\n\n",
                package.len()
            );
        }
        let files: [(&str, &[u8]); 2] = [("DESCRIPTION", b"v3.20"), ("APKINDEX", index.as_bytes())];
        write(&repository.path("APKINDEX.tar.gz"), &gzip(&tar(&files)));
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("alpine/v3.20/main/x86_64").join(name)
    }

    fn machine(&self, mirror: &str) -> Machine {
        let mut machine = Machine::new(&file_address(self.dir.path()));
        machine.mirrors.set("alpine".to_owned(), mirror.parse().unwrap());
        machine
    }

    fn local_machine(&self) -> Machine {
        self.machine(&file_address(&self.dir.path().join("alpine")))
    }
}

#[test]
fn kernels_of_alpine_are_selected_and_stored() {
    let repository = AlpineRepository::new();
    let machine = repository.local_machine();
    let kernel = machine.find("alpine:3.20").unwrap().remove(0);
    assert_eq!((kernel.name().as_str(), kernel.series().as_str()), ("alpine:3.20/6.6.100-0-lts", "6.6"));
    assert_eq!(releases(&machine.find("alpine:3.20/virt").unwrap()), ["6.6.100-0-virt"]);
    let stored = machine.fetch(&kernel).unwrap();
    assert_eq!(fs::read(stored.btf()).unwrap(), kernel_btf());
    assert_eq!(names_in(&stored.modules()), ["xfs.btf"]);
    let missing = MirrorDefect::NoRelease { release: "edge".to_owned(), available: vec!["3.20".to_owned()] };
    assert_eq!(defect(machine.find("alpine:edge")), missing);
}

/// The index has the hash of a package's metadata, which have the hash of its files.
#[test]
fn changed_packages_of_alpine_are_errors() {
    let repository = AlpineRepository::new();
    let server = Server::new(repository.dir.path());
    let machine = repository.machine(&format!("{}/alpine", server.address()));
    let kernel = machine.find("alpine:3.20").unwrap().remove(0);
    assert_eq!(kernel.protection, Protection::None);
    let len = fs::metadata(repository.path("linux-lts-6.6.100-r0.apk")).unwrap().len();
    server.add_fault("linux-lts", Fault::ChangedByte(usize::try_from(len).unwrap() - 9));
    assert!(matches!(defect(machine.fetch(&kernel)), MirrorDefect::Hash { .. }));
    machine.assert_empty();

    // Another package of the same name, which is whole.
    server.clear_faults();
    let other = AlpineRepository::new();
    let package = fs::read(other.path("linux-virt-6.6.100-r0.apk")).unwrap();
    fs::write(repository.path("linux-lts-6.6.100-r0.apk"), package).unwrap();
    assert!(matches!(defect(machine.fetch(&kernel)), MirrorDefect::Hash { .. }));
    machine.assert_empty();
    assert!(matches!(defect(machine.find("alpine:3.20")), MirrorDefect::Metadata { .. }));
    fs::remove_file(repository.path("linux-lts-6.6.100-r0.apk")).unwrap();
    assert_eq!(defect(machine.find("alpine:3.20")), MirrorDefect::Status { code: 404 });
}

/// The hash in the index does not cover the head of a package.
#[test]
fn files_in_the_head_of_a_package_are_not_stored() {
    let repository = AlpineRepository::new();
    let machine = repository.local_machine();
    let mut kernel = machine.find("alpine:3.20").unwrap().remove(0);
    let path = repository.path("linux-lts-6.6.100-r0.apk");
    let info = format!("pkgname = linux-lts\ndatahash = {}\n", kernel.packages[0].hash);
    let files: [(&str, &[u8]); 2] = [(".PKGINFO", info.as_bytes()), ("boot/vmlinuz-lts", &module_btf())];
    let btf = [kernel_btf(), module_btf()];
    let module = "lib/modules/6.6.100-0-lts/kernel/fs/xfs/xfs.ko";
    let package = [apk_part(&files), gzip(&tar(&kernel_files("boot/vmlinuz-lts", module, &btf)))].concat();
    fs::write(&path, &package).unwrap();
    kernel.packages[0].bytes = u64::try_from(package.len()).unwrap();
    let stored = machine.fetch(&kernel).unwrap();
    assert_eq!(fs::read(stored.btf()).unwrap(), kernel_btf());
}

/// Runs `openssl` with words, and paths in a directory that begin with `./`.
fn openssl(dir: &Path, words: &str) {
    let output = Command::new("openssl").args(words.split(' ')).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn indexes_of_alpine_are_verified_with_its_keys() {
    if Command::new("openssl").arg("version").output().is_err() {
        return skip(&this_test(), "openssl is not installed");
    }
    let repository = AlpineRepository::new();
    let keys = tempfile::tempdir().unwrap();
    fs::create_dir(keys.path().join("keys")).unwrap();
    openssl(keys.path(), "genrsa -out ./key.pem 2048");
    openssl(keys.path(), "rsa -in ./key.pem -pubout -out ./keys/test.rsa.pub");
    let find = || {
        let mut machine = repository.local_machine();
        machine.mirrors.set_apk_keys(keys.path().join("keys"));
        let (store, spec) = (machine.store(), "alpine:3.20@x86_64".parse::<KernelSpec>().unwrap());
        let kernels =
            Fetcher::new(&machine.mirrors, &store, FetchOptions::default(), &NoProgress).find(&spec)?;
        Ok::<_, FetchError>(kernels[0].protection.clone())
    };
    assert_eq!(find(), Ok(Protection::File), "a directory of this machine needs no signature");

    let path = repository.path("APKINDEX.tar.gz");
    let index = fs::read(&path).unwrap();
    fs::write(keys.path().join("index"), &index).unwrap();
    for (algorithm, name) in [("-sha1", ".SIGN.RSA.test.rsa.pub"), ("-sha256", ".SIGN.RSA256.test.rsa.pub")] {
        openssl(keys.path(), &format!("dgst {algorithm} -sign ./key.pem -out ./signature ./index"));
        let signature = apk_part(&[(name, &fs::read(keys.path().join("signature")).unwrap())]);
        fs::write(&path, [&signature[..], &index].concat()).unwrap();
        let key = keys.path().join("keys/test.rsa.pub").display().to_string();
        assert_eq!(find(), Ok(Protection::Signature { keyring: key.clone() }));
        // An index beside the signature, which the signature does not cover, is not read.
        let content = fs::read(keys.path().join("signature")).unwrap();
        let with_index = apk_part(&[(name, &content), ("APKINDEX", b"")]);
        fs::write(&path, [&with_index[..], &index].concat()).unwrap();
        assert_eq!(find(), Ok(Protection::Signature { keyring: key }));
        // Another index with the same signature.
        let files: [(&str, &[u8]); 1] = [("APKINDEX", b"")];
        fs::write(&path, [&signature[..], &gzip(&tar(&files))].concat()).unwrap();
        assert!(matches!(defect(find()), MirrorDefect::Signature { .. }));
    }
    let unknown = apk_part(&[(".SIGN.RSA.other.rsa.pub", b"x")]);
    fs::write(&path, [&unknown[..], &index].concat()).unwrap();
    let MirrorDefect::Signature { message } = defect(find()) else { panic!("another defect") };
    assert!(message.ends_with("does not have the key other.rsa.pub"), "{message}");
}

#[test]
fn kernels_of_arch_are_selected_and_stored() {
    let dir = tempfile::tempdir().unwrap();
    let btf = [kernel_btf(), module_btf()];
    let packages = [
        ("core", "linux", "6.9.1.arch1-1", "6.9.1-arch1-1"),
        ("extra", "linux-zen", "6.9.1.zen1-1", "6.9.1-zen1-1-zen"),
    ];
    for (repository, name, version, release) in packages {
        let (image, module) = (
            format!("usr/lib/modules/{release}/vmlinuz"),
            format!("usr/lib/modules/{release}/kernel/fs/xfs/xfs.ko"),
        );
        let info = format!("pkgname = {name}\npkgver = {version}\narch = x86_64\n");
        let mut files = vec![(".PKGINFO", info.as_bytes())];
        files.extend(kernel_files(&image, &module, &btf));
        let package = gzip(&tar(&files));
        let file_name = format!("{name}-{version}-x86_64.pkg.tar.zst");
        let desc = format!(
            "%FILENAME%\n{file_name}\n\n%NAME%\n{name}\n\n%VERSION%\n{version}\n\n%CSIZE%\n{}\n\n%SHA256SUM%\n{}\n\n",
            package.len(),
            hex(&Sha256::digest(&package))
        );
        let repository_dir = dir.path().join(format!("{repository}/os/x86_64"));
        write(&repository_dir.join(&file_name), &package);
        let database = gzip(&tar(&[(&format!("{name}-{version}/desc"), desc.as_bytes())]));
        write(&repository_dir.join(format!("{repository}.db")), &database);
    }
    let mut machine = Machine::new(&file_address(dir.path()));
    machine.mirrors.set("arch".to_owned(), file_address(dir.path()).parse().unwrap());
    let kernel = machine.find("arch").unwrap().remove(0);
    assert_eq!(
        (kernel.name().as_str(), kernel.linux_version().as_str()),
        ("arch:rolling/6.9.1-arch1-1", "6.9.1.arch1")
    );
    assert_eq!(releases(&machine.find("arch/zen").unwrap()), ["6.9.1-zen1-1-zen"]);
    let stored = machine.fetch(&kernel).unwrap();
    assert_eq!(
        (fs::read(stored.btf()).unwrap(), names_in(&stored.modules())),
        (kernel_btf(), vec!["xfs.btf".to_owned()])
    );
    let package = dir.path().join("core/os/x86_64/linux-6.9.1.arch1-1-x86_64.pkg.tar.zst");
    machine.store().remove(&stored).unwrap();
    let mut changed = fs::read(&package).unwrap();
    let at = changed.len() - 9;
    changed[at] ^= 1;
    fs::write(package, changed).unwrap();
    assert!(matches!(defect(machine.fetch(&kernel)), MirrorDefect::Hash { .. }));
    machine.assert_empty();
}
