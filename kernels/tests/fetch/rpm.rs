//! Kernels of rpm-md repositories, made by `rpmbuild` and `createrepo_c` with the layouts of distributions.

use super::{
    Machine, defect, file_address, kernel_btf, module_btf, names_in, releases,
    server::{Fault, Server},
    signatures::Key,
};
use core_relo_kernels::fetch::{
    AvailableKernel, BtfOrigin, FetchError, FetchOptions, Fetcher, KernelSpec, MirrorDefect, Mirrors,
    NoProgress, Protection, RpmMdDefect, Store, StoredKernel,
};
use core_relo_test_support::{RpmPackage, RpmRepository, skip, this_test};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

const GZIP: &str = "w9.gzdio";
const XZ: &str = "w7.xzdio";
const ZSTD: &str = "w3.zstdio";

/// The repository of Rocky Linux 9, below the mirror.
const BASE_OS: &str = "9/BaseOS/x86_64/os";

/// A mirror, and a machine that uses it.
struct Mirror {
    dir: tempfile::TempDir,
}

/// The packages of a kernel of Enterprise Linux.
struct Kernel<'k> {
    version: &'k str,
    flavour: &'k str,
    image: Vec<u8>,
}

impl Kernel<'_> {
    fn release(&self) -> String {
        let suffix = if self.flavour.is_empty() { String::new() } else { format!("+{}", self.flavour) };
        format!("{}.x86_64{suffix}", self.version)
    }

    /// Adds the packages: the image with its configuration, and modules in two packages.
    fn add_to(&self, repository: &RpmRepository) {
        let release = self.release();
        let flavour = if self.flavour.is_empty() { String::new() } else { format!("-{}", self.flavour) };
        let path = |name: &str| format!("lib/modules/{release}/{name}");
        let core = format!("kernel{flavour}-core");
        let provides = [
            format!("kernel-uname-r = {release}"),
            format!("{core}-uname-r = {release}"),
            "kernel(printk) = 0x1".to_owned(),
        ];
        repository.add_package(&RpmPackage {
            name: &core,
            version: self.version,
            provides: &provides,
            payload: ZSTD,
            files: &[
                (path("vmlinuz"), self.image.clone()),
                (path("config"), b"CONFIG_BPF=y\n".to_vec()),
                (path("System.map"), b"ffffffff81000000 T _text\n".to_vec()),
                // A package with an image is not small.
                (path("padding"), vec![0; 2 << 20]),
            ],
        });
        for (ending, module, payload) in [("modules-core", "xfs", XZ), ("modules", "nf-tables", GZIP)] {
            repository.add_package(&RpmPackage {
                name: &format!("kernel{flavour}-{ending}"),
                version: self.version,
                provides: &[format!("kernel{flavour}-{ending}-uname-r = {release}")],
                payload,
                files: &[(path(&format!("kernel/{module}.ko")), module_btf())],
            });
        }
    }
}

fn kernel(version: &str) -> Kernel<'_> {
    Kernel { version, flavour: "", image: kernel_btf() }
}

impl Mirror {
    /// Creates a mirror with two kernels of Rocky Linux 9, and one for real time.
    fn new() -> Option<Self> {
        let mirror = Self::empty();
        let base_os = mirror.repository(BASE_OS)?;
        kernel("5.14.0-427.el9").add_to(&base_os);
        kernel("5.14.0-427.13.1.el9_4").add_to(&base_os);
        base_os.add_package(&RpmPackage {
            name: "kernel",
            version: "5.14.0-427.13.1.el9_4",
            provides: &[],
            payload: XZ,
            files: &[],
        });
        base_os.write_index(&[]);
        let real_time = mirror.repository("9/RT/x86_64/os")?;
        Kernel { flavour: "rt", ..kernel("5.14.0-427.el9") }.add_to(&real_time);
        real_time.write_index(&["--no-database"]);
        Some(mirror)
    }

    fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn repository(&self, path: &str) -> Option<RpmRepository> {
        RpmRepository::new(&self.dir.path().join(path))
    }

    fn address(&self) -> String {
        file_address(self.dir.path())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }
}

/// Returns a machine with a mirror of a distribution.
fn machine(distribution: &str, address: &str) -> Machine {
    let mut machine = Machine::new(address);
    machine.mirrors = Mirrors::default();
    machine.mirrors.set_apt_dir(machine.dir.path().join("apt"));
    machine.mirrors.set_key_dirs(Vec::new());
    machine.mirrors.set(distribution.to_owned(), address.parse().unwrap());
    machine
}

fn files(stored: &StoredKernel) -> Vec<&str> {
    stored.manifest.files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn kernels_are_found_in_their_packages_and_stored() {
    let Some(mirror) = Mirror::new() else { return };
    let machine = machine("rocky", &mirror.address());
    let newest = machine.find("rhel:9").unwrap();
    let release = "5.14.0-427.13.1.el9_4.x86_64";
    assert_eq!(releases(&newest), [release]);
    assert_eq!(newest[0].name(), format!("rocky:9/{release}"));
    assert_eq!(releases(&machine.find("rocky:9/all").unwrap()), ["5.14.0-427.el9.x86_64", release]);
    assert_eq!(releases(&machine.find("rocky:9/rt").unwrap()), ["5.14.0-427.el9.x86_64+rt"]);
    assert_eq!(releases(&machine.find("rocky:9/5.14.0-427.el9").unwrap()), ["5.14.0-427.el9.x86_64"]);
    assert_eq!(
        machine.find("rocky:9/uek").unwrap_err().to_string(),
        "`rocky:9/uek@x86_64`: no flavour `uek`; known: generic, rt"
    );
    let stored = machine.fetch(&newest[0]).unwrap();
    assert_eq!(fs::read(stored.btf()).unwrap(), kernel_btf());
    assert_eq!(names_in(&stored.modules()), ["nf_tables.btf", "xfs.btf"]);
    let texts = ["System.map", "config", "vmlinuz"].map(|name| format!("{name}-{release}"));
    assert_eq!(files(&stored), [&[format!("{release}.btf")], &texts[..]].concat());
    assert_eq!(stored.manifest.btf_origin, BtfOrigin::Image);
    assert_eq!(stored.manifest.kernel.protection, Protection::File);
    assert_eq!(
        machine.find("rocky:8").unwrap_err().to_string(),
        format!("{}: the mirror does not have 8; it has 9", mirror.address())
    );
}

/// Runs a command with an input, and returns what it prints.
fn filter(command: &str, input: &[u8]) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("input");
    fs::write(&file, input).unwrap();
    let output =
        Command::new("sh").args(["-c", &format!("{command} < {}", file.display())]).output().unwrap();
    output.status.success().then_some(output.stdout)
}

/// Returns the list of packages of a repository.
fn primary(repository: &Path) -> Vec<u8> {
    let repodata = repository.join("repodata");
    let name = names_in(&repodata).into_iter().find(|name| name.ends_with("primary.xml.gz")).unwrap();
    filter("gzip -dc", &fs::read(repodata.join(name)).unwrap()).unwrap()
}

/// Writes an index with one list of packages, by hand.
fn write_index(repository: &Path, list: &[u8], name: &str) {
    let sum = String::from_utf8(filter("sha256sum", list).unwrap()).unwrap();
    let sum = sum.split(' ').next().unwrap();
    let index = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<repomd xmlns=\"http://linux.duke.edu/metadata/repo\">\
         <revision>1</revision><data type=\"primary\"><checksum type=\"sha256\">{sum}</checksum>\
         <location href=\"repodata/{name}\"/><size>{}</size></data></repomd>",
        list.len()
    );
    fs::write(repository.join("repodata").join(name), list).unwrap();
    fs::write(repository.join("repodata/repomd.xml"), index).unwrap();
}

/// The forms that createrepo_c has written over the years, and lists beside that of packages.
#[test]
fn lists_have_many_forms() {
    let mirror = Mirror::empty();
    let Some(repository) = mirror.repository(BASE_OS) else { return };
    kernel("5.14.0-427.el9").add_to(&repository);
    let expected = ["5.14.0-427.el9.x86_64"];
    let find = || machine("rocky", &mirror.address()).find("rocky:9");
    for options in [
        &["--no-database"][..],
        &["--database", "--xz"],
        &["--general-compress-type", "xz"],
        &["--general-compress-type", "bz2"],
        &["--checksum", "sha512"],
        &["--checksum", "sha256", "--repomd-checksum", "sha512", "--simple-md-filenames"],
    ] {
        fs::remove_dir_all(repository.dir().join("repodata")).unwrap_or(());
        repository.write_index(options);
        let found = find().unwrap();
        assert_eq!(releases(&found), expected, "{options:?}");
        machine("rocky", &mirror.address()).fetch(&found[0]).unwrap();
    }
    // Modules, deltas and comps do not matter.
    for (name, content) in [
        ("modules.yaml", "---\ndocument: modulemd\nversion: 2\n"),
        ("prestodelta.xml", "<prestodelta><newpackage name=\"kernel-core\"/></prestodelta>"),
        ("comps.xml", "<comps/>"),
    ] {
        let file = mirror.path(name);
        fs::write(&file, content).unwrap();
        let mut modify = Command::new("modifyrepo_c");
        let output = modify.arg(&file).arg(repository.dir().join("repodata")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(releases(&find().unwrap()), expected);

    fs::remove_dir_all(repository.dir().join("repodata")).unwrap();
    repository.write_index(&["--no-database"]);
    let list = primary(repository.dir());
    write_index(repository.dir(), &list, "primary.xml");
    assert_eq!(releases(&find().unwrap()), expected);
    match filter("zstd -c", &list) {
        Some(packed) => {
            write_index(repository.dir(), &packed, "primary.xml.zst");
            assert_eq!(releases(&find().unwrap()), expected);
        }
        None => skip(&this_test(), "zstd is not installed"),
    }
}

/// openSUSE has SHA-512 sums and one package for a kernel, Amazon Linux a file with the address of the
/// present state, whose packages are elsewhere on the mirror.
#[test]
fn other_distributions_have_other_layouts() {
    let mirror = Mirror::empty();
    let Some(suse) = mirror.repository("tumbleweed/repo/oss") else { return };
    let image = |release: &str, dir: &str| {
        [(format!("{dir}{release}"), kernel_btf()), (format!("{dir}padding"), vec![0; 2 << 20])]
    };
    suse.add_package(&RpmPackage {
        name: "kernel-default",
        version: "6.17.5-1.1",
        provides: &[],
        payload: ZSTD,
        files: &image("6.17.5-1-default", "boot/vmlinuz-"),
    });
    suse.write_index(&["--checksum", "sha512"]);
    let tumbleweed = machine("opensuse", &mirror.address());
    let found = tumbleweed.find("opensuse:tumbleweed/default").unwrap();
    assert_eq!(releases(&found), ["6.17.5-1-default"]);
    assert_eq!(found[0].packages[0].hash.len(), 128);
    tumbleweed.fetch(&found[0]).unwrap();

    let Some(amazon) = mirror.repository("blobstore/abc") else { return };
    amazon.add_package(&RpmPackage {
        name: "kernel6.12",
        version: "6.12.20-23.97.amzn2023",
        provides: &[],
        payload: GZIP,
        files: &image("6.12.20-23.97.amzn2023.x86_64", "boot/vmlinuz-"),
    });
    let state = mirror.path("al2023/core/guids/0123/x86_64");
    fs::create_dir_all(&state).unwrap();
    let prefix = "../../../../../blobstore/abc";
    amazon.write_index(&["--location-prefix", prefix, "--outputdir", &state.display().to_string()]);
    let pointer = mirror.path("al2023/core/mirrors/latest/x86_64");
    fs::create_dir_all(&pointer).unwrap();
    let list = "https://cdn.amazonlinux.com/al2023/core/guids/0123/x86_64/\n";
    fs::write(pointer.join("mirror.list"), list).unwrap();
    let server = Server::new(mirror.dir.path());
    let amazon = machine("amazon", server.address());
    let found = amazon.find("amazon:2023/6.12").unwrap();
    assert!(found[0].packages[0].path.starts_with("blobstore/abc/Packages/kernel6.12-"), "{found:?}");
    amazon.fetch(&found[0]).unwrap();
    fs::write(pointer.join("mirror.list"), "https://cdn.amazonlinux.com/../x\n").unwrap();
    assert!(matches!(
        defect(amazon.find("amazon:2023")),
        MirrorDefect::RpmMd(RpmMdDefect::UnsafePath { .. })
    ));
}

/// Each fault is one that a mirror or a proxy has. None makes a wrong kernel visible.
#[test]
fn faults_of_mirrors_are_errors_or_are_overcome() {
    let Some(mirror) = Mirror::new() else { return };
    let server = Server::new(mirror.dir.path());
    let new_machine = || machine("rocky", server.address());
    let fault = |path: &str, fault: Fault| {
        server.clear_faults();
        server.add_fault(path, fault);
    };
    for at in [0, 20, 400] {
        fault("primary.xml.gz", Fault::ChangedByte(at));
        assert!(matches!(defect(new_machine().find("rocky:9")), MirrorDefect::Hash { .. }), "byte {at}");
    }
    fault("primary.xml.gz", Fault::Longer);
    assert!(matches!(defect(new_machine().find("rocky:9")), MirrorDefect::Long { .. }));
    fault("primary.xml.gz", Fault::CutAfter(0));
    assert!(matches!(
        defect(new_machine().find("rocky:9")),
        MirrorDefect::Short { .. } | MirrorDefect::Connection { .. }
    ));
    fault("primary.xml.gz", Fault::CutAfter(300));
    assert_eq!(releases(&new_machine().find("rocky:9").unwrap()).len(), 1);
    // A mirror in the middle of a change has the new index and not the new list, also of a further
    // repository, whose kernel would be missing.
    for repository in ["9/BaseOS/x86_64/os", "9/RT/x86_64/os"] {
        server.clear_faults();
        let list = mirror.path(repository).join("repodata");
        let name = names_in(&list).into_iter().find(|name| name.ends_with("primary.xml.gz")).unwrap();
        fs::rename(list.join(&name), list.join("away")).unwrap();
        let error = new_machine().find("rocky:9").unwrap_err();
        assert!(error.to_string().contains("primary.xml.gz: the server answers 404"), "{error}");
        assert!(error.parts().1.is_some_and(|help| help.contains("may be changing at this moment")));
        fs::rename(list.join("away"), list.join(&name)).unwrap();
    }
    // A mirror without a further repository.
    fault("9/RT", Fault::Status(404));
    assert_eq!(releases(&new_machine().find("rocky:9").unwrap()).len(), 1);
    fault("9/RT", Fault::Status(403));
    assert_eq!(defect(new_machine().find("rocky:9")), MirrorDefect::Status { code: 403 });

    let machine = new_machine();
    server.clear_faults();
    let kernel = machine.find("rocky:9").unwrap().remove(0);
    for at in [200, 3000] {
        fault("kernel-modules-core", Fault::ChangedByte(at));
        assert!(matches!(defect(machine.fetch(&kernel)), MirrorDefect::Hash { .. }), "byte {at}");
        machine.assert_empty();
    }
    fault("kernel-core", Fault::Status(404));
    assert_eq!(defect(machine.fetch(&kernel)), MirrorDefect::Status { code: 404 });
    machine.assert_empty();
    fault(".rpm", Fault::CutAfter(1500));
    machine.fetch(&kernel).unwrap();
}

#[test]
fn damaged_indexes_are_errors() {
    let mirror = Mirror::empty();
    let Some(repository) = mirror.repository(BASE_OS) else { return };
    kernel("5.14.0-427.el9").add_to(&repository);
    repository.write_index(&["--database"]);
    let find = || machine("rocky", &mirror.address()).find("rocky:9");
    let index = fs::read_to_string(repository.index()).unwrap();
    let write = |index: &str| fs::write(repository.index(), index).unwrap();

    write(&index.replace("type=\"primary\"", "type=\"primary_old\""));
    let sqlite = find().unwrap_err().to_string();
    assert!(sqlite.contains("repomd.xml: has no list of packages in XML (`primary`), only: "), "{sqlite}");
    assert!(sqlite.contains("primary_db") && sqlite.contains("help: createrepo_c"), "{sqlite}");
    for (text, expected) in [
        (index[..index.len() - 20].to_owned(), "the document ends early"),
        ("<html><body>Log in</body></html>".to_owned(), "the root is `html` instead of `repomd`"),
        (
            index
                .replace("type=\"sha256\"", "type=\"md5\"")
                .replace("<checksum type=\"md5\">", "<checksum type=\"md5\">x"),
            "a hash of the type `md5`",
        ),
        (index.replace("href=\"repodata/", "href=\"../../../../../etc/"), "leaves the mirror"),
        (format!("<!DOCTYPE x [<!ENTITY a \"b\">]>{}", index.split_once('\n').unwrap().1), "a document type"),
    ] {
        write(&text);
        let error = find().unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("repomd.xml"), "{expected}: {error}");
    }
    fs::write(repository.index(), b"<repomd>\xff</repomd>").unwrap();
    assert!(find().unwrap_err().to_string().contains("byte 8: no text"));
    // A list that is damaged although its hash is right.
    let list = primary(repository.dir());
    write_index(repository.dir(), &list[..list.len() / 2], "primary.xml");
    let error = find().unwrap_err().to_string();
    assert!(error.contains("primary.xml: byte ") && error.contains("expected the XML"), "{error}");
}

/// Finds a kernel with the keys in a directory.
fn find_with_keys(
    distribution: &str,
    spec: &str,
    address: &str,
    keys: &Path,
) -> Result<AvailableKernel, FetchError> {
    let mut machine = machine(distribution, address);
    machine.mirrors.set_key_dirs(vec![keys.to_path_buf()]);
    let store = Store::new(machine.dir.path().join("store"));
    let spec: KernelSpec = format!("{spec}@x86_64").parse()?;
    let fetcher = Fetcher::new(&machine.mirrors, &store, FetchOptions::default(), &NoProgress);
    Ok(fetcher.find(&spec)?.remove(0))
}

/// Distributions sign `repomd.xml` in a file beside it, with keys that the machine has as text.
#[test]
fn signatures_of_indexes_are_verified() {
    let Some(mirror) = Mirror::new() else { return };
    let (Some(key), Some(other)) = (Key::new(), Key::new()) else { return };
    let keys = mirror.path("keys");
    fs::create_dir(&keys).unwrap();
    let key_file = keys.join("RPM-GPG-KEY-Rocky-9");
    key.export_text(&key_file);
    let server = Server::new(mirror.dir.path());
    let find = || find_with_keys("rocky", "rocky:9", server.address(), &keys);
    // Rocky need not sign its indexes; then nothing protects them here.
    assert_eq!(find().unwrap().protection, Protection::None);
    let indexes = [BASE_OS, "9/RT/x86_64/os"].map(|path| mirror.path(path).join("repodata/repomd.xml"));
    for index in &indexes {
        key.sign_detached(index, &[]);
    }
    assert_eq!(find().unwrap().protection, Protection::Signature { keyring: key_file.display().to_string() });

    let is_bad = |error: FetchError| {
        assert!(
            matches!(&error, FetchError::Mirror { defect: MirrorDefect::Signature { .. }, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("repomd.xml: the signature is not valid"), "{error}");
    };
    other.sign_detached(&indexes[0], &[]);
    is_bad(find().unwrap_err());
    // A signature that has expired.
    key.sign_detached(&indexes[0], &["--default-sig-expire", "seconds=1"]);
    thread::sleep(Duration::from_millis(2100));
    is_bad(find().unwrap_err());
    key.sign_detached(&indexes[0], &[]);
    let index = fs::read_to_string(&indexes[0]).unwrap();
    fs::write(&indexes[0], index.replace("<revision>", "<revision>1")).unwrap();
    is_bad(find().unwrap_err());

    // openSUSE signs every index.
    let suse = mirror.path("tumbleweed/repo/oss");
    fs::create_dir_all(suse.parent().unwrap()).unwrap();
    fs::rename(mirror.path("9/RT/x86_64/os"), &suse).unwrap();
    fs::remove_file(suse.join("repodata/repomd.xml.asc")).unwrap();
    fs::create_dir(keys.join("opensuse")).unwrap();
    fs::rename(&key_file, keys.join("opensuse/RPM-GPG-KEY-openSUSE")).unwrap();
    let unsigned = find_with_keys("opensuse", "opensuse:tumbleweed", server.address(), &keys).unwrap_err();
    assert!(matches!(&unsigned, FetchError::Unverified { .. }), "{unsigned}");
    assert!(unsigned.to_string().contains("the mirror does not have repomd.xml.asc"), "{unsigned}");
}

/// Compiles an object, and returns it with and without its debug information.
fn image_with_debug_info(dir: &Path) -> Option<(Vec<u8>, Vec<u8>)> {
    let source = dir.join("kernel.c");
    fs::write(
        &source,
        "struct task_struct { int pid; };\nint of(struct task_struct *t) { return t->pid; }\n",
    )
    .unwrap();
    let (debug, image) = (dir.join("debug"), dir.join("image"));
    let run = |program: &str, words: &[&Path]| {
        Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
    };
    let is_made = run("cc", &[Path::new("-g"), Path::new("-c"), &source, Path::new("-o"), &debug])
        && run("objcopy", &[Path::new("--strip-debug"), &debug, &image]);
    if !is_made {
        skip(&this_test(), "no C compiler with objcopy is installed");
        return None;
    }
    Some((fs::read(debug).unwrap(), fs::read(image).unwrap()))
}

/// The packages with debug information are in a repository of their own.
#[test]
fn kernels_without_btf_have_it_from_their_debug_information() {
    let mirror = Mirror::empty();
    let (Some(repository), Some((debug, image))) =
        (mirror.repository(BASE_OS), image_with_debug_info(mirror.dir.path()))
    else {
        return;
    };
    let version = "4.14.0-427.el9";
    Kernel { image, ..kernel(version) }.add_to(&repository);
    repository.write_index(&[]);
    let machine = machine("rocky", &mirror.address());
    let kernel = machine.find("rocky:9").unwrap().remove(0);
    let name = format!("rocky:9/{version}.x86_64");
    assert_eq!(
        machine.fetch(&kernel).unwrap_err().to_string(),
        format!(
            "{name}: the kernel has no BTF; no package with its debug information is known\nhelp: choose another kernel"
        )
    );
    let Some(debug_repository) = mirror.repository("9/BaseOS/x86_64/debug/tree") else { return };
    let path = |name: &str| format!("usr/lib/debug/lib/modules/{version}.x86_64/{name}");
    debug_repository.add_package(&RpmPackage {
        name: "kernel-debuginfo",
        version,
        provides: &[],
        payload: XZ,
        files: &[(path("kernel/xfs.ko.debug"), b"module".to_vec()), (path("vmlinux"), debug)],
    });
    debug_repository.write_index(&[]);
    assert_eq!(
        machine.fetch(&kernel).unwrap_err().to_string(),
        format!(
            "{name}: the kernel has no BTF; its debug information is in kernel-debuginfo, 1 MiB\n\
             help: --from-debuginfo downloads the package and makes BTF from it"
        )
    );
    machine.assert_empty();
    let store = machine.store();
    let options = Machine::options().from_debuginfo(true);
    let stored = Fetcher::new(&machine.mirrors, &store, options, &NoProgress).fetch(&kernel).unwrap();
    let btf = core_relo::btf::Btf::parse(fs::read(stored.btf()).unwrap()).unwrap();
    assert!(btf.types().any(|ty| ty.name().as_bytes() == b"task_struct"));
    assert!(
        matches!(&stored.manifest.btf_origin, BtfOrigin::DebugInformation { package } if package.name == "kernel-debuginfo"),
        "{:?}",
        stored.manifest
    );
    assert!(!names_in(&stored.dir).contains(&"vmlinux".to_owned()), "the vmlinux is not kept");
    assert_eq!(names_in(&store.root().join("tmp")), [""; 0]);
}
