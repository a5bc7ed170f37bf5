//! `kernels` and `--kernels`, with a mirror in a directory of this machine.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::Run;
use core_relo::btf::{Btf, Builder};
use core_relo_test_support::AptRepository;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A project, its mirror, and the user's store.
struct Project {
    dir: tempfile::TempDir,
    apt: AptRepository,
}

impl Project {
    /// Creates a project. Returns `None` with a skip if a tool is missing.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let image = fs::read(common::demo().join("linux-6.1.btf")).unwrap();
        let base = Btf::parse(image.clone()).unwrap();
        let mut module = Builder::split(&base);
        module.int("xfs_int", 4, 0);
        let apt = AptRepository::new(dir.path(), &image, &module.finish())?;
        let config = format!(
            "[kernels]\nspecs = [\"debian:12@amd64\"]\n\n[mirrors]\ndebian = \"file://{}\"\n",
            apt.archive().display()
        );
        fs::create_dir(dir.path().join("project")).unwrap();
        fs::write(dir.path().join("project/core-relo.toml"), config).unwrap();
        Some(Self { dir, apt })
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// Runs the command in the directory of the project.
    fn run(&self, arguments: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_core-relo"));
        command.args(arguments.split(' ')).current_dir(self.project());
        command.env("XDG_CACHE_HOME", self.dir.path().join("cache")).env_remove("RUST_LOG");
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { out: text(stdout), err: text(stderr), exit: status.code().unwrap() }
    }
}

fn object() -> String {
    common::demo().join("exec.bpf.o").display().to_string()
}

#[test]
fn kernels_are_listed_fetched_shown_exported_and_removed() {
    let Some(project) = Project::new() else { return };
    let schema = common::schema();
    let listed = project.run("kernels list");
    assert_eq!(listed.exit, 0, "{}", listed.err);
    assert!(
        listed.out.lines().nth(1).unwrap().starts_with("debian:12/6.1.0-2-amd64  6.1.9-1"),
        "{}",
        listed.out
    );
    let lines = project.run("kernels list debian:12/all/all-flavours@x86_64 --format json").lines();
    assert_eq!(lines.len(), 3);
    schema.check("kernels list", &lines[0]);

    // Both forms of the question find the kernel; it is downloaded once.
    let fetched = project.run("kernels fetch debian:12@amd64 debian:bookworm/6.1@amd64 --format json");
    assert_eq!(fetched.exit, 0, "{}", fetched.err);
    // The mirror has no updates.
    assert!(fetched.err.contains("note: bookworm-updates is left out"), "{}", fetched.err);
    assert!(fetched.err.ends_with("fetches 1 kernel, 1 MiB: debian:12/6.1.0-2-amd64\n"), "{}", fetched.err);
    schema.check("kernels fetch, kernels show, kernels remove", &fetched.lines()[0]);
    let again = project.run("kernels fetch");
    assert_eq!(again.exit, 0);
    assert!(!again.err.contains("fetches"), "{}", again.err);

    let shown = project.run("kernels show");
    assert!(shown.out.contains("local directory, no signature"), "{}", shown.out);
    let exported = project.run("kernels export out --format json");
    schema.check("kernels export", &exported.lines()[0]);
    let checked = project.run(&format!("check {} --btf out", object()));
    assert_eq!(checked.rows().len(), 1, "{}{}", checked.out, checked.err);
    let json = project.run(&format!("check {} --btf out --format json", object()));
    assert_eq!(json.lines()[0]["package_version"], "6.1.9-1");
    // Without words, a release stands for all its kernels in the store.
    project.run("kernels fetch debian:12/cloud@amd64 debian:12/6.1.1@amd64");
    let names = |run: &Run| run.lines().iter().map(|line| line["name"].clone()).collect::<Vec<_>>();
    let shown = project.run("kernels show debian:12 --format json");
    let all = ["debian:12/6.1.0-1-amd64", "debian:12/6.1.0-2-amd64", "debian:12/6.1.0-2-cloud-amd64"];
    assert_eq!(names(&shown), all);
    assert_eq!(names(&project.run("kernels show debian:12/cloud --format json")), &all[2..]);
    assert_eq!(names(&project.run("kernels show debian:12/6.1.9 --format json")), &all[1..]);
    let none = project.run("kernels show debian:11");
    assert!(none.err.contains("debian:11: is not in"), "{}", none.err);
    let removed = project.run("kernels remove debian:12");
    assert_eq!(removed.out, all.map(|name| format!("removed {name}\n")).concat());
    assert_eq!(project.run("kernels show").out, "no kernels have been fetched\n");
}

#[test]
fn kernels_are_targets_with_and_without_network() {
    let Some(project) = Project::new() else { return };
    let check = format!("check {} --kernels", object());
    let offline = project.run(&format!("{check} debian:12@amd64 --offline"));
    assert_eq!(offline.exit, 2);
    assert!(offline.err.contains("fetch it with `core-relo kernels fetch`"), "{}", offline.err);
    let online = project.run(&format!("{check} core-relo.toml --format json"));
    assert_eq!(online.exit, 0, "{}{}", online.out, online.err);
    let line = &online.lines()[0];
    assert_eq!(line["target"], "debian:12/6.1.0-2-amd64");
    assert_eq!(line["target_id"], "fetched:debian:12/6.1.0-2-amd64@x86_64");
    let package = ["distribution", "distribution_release", "package_version"].map(|key| &line[key]);
    assert_eq!(package, ["debian", "12", "6.1.9-1"]);
    assert_eq!(line["kernel"]["series"], "debian:12 x86_64");
    fs::rename(project.apt.archive(), project.dir.path().join("gone")).unwrap();
    let offline = project.run(&format!("{check} debian:12@amd64 --offline"));
    assert_eq!((offline.exit, &*offline.err), (0, ""));
    let explained = project.run(&format!("explain {} --kernels debian:12@amd64 --offline", object()));
    assert!(explained.out.contains("on debian:12/6.1.0-2-amd64"), "{}", explained.out);
    let gone = project.run(&format!("{check} debian:12@amd64"));
    assert!(gone.err.contains("the mirror does not have 12 (bookworm)"), "{}", gone.err);
}

#[test]
fn a_lock_file_pins_kernels_until_the_next_update() {
    let Some(project) = Project::new() else { return };
    let check = format!("check {} --kernels core-relo.toml", object());
    let locked = project.run(&format!("{check} --locked"));
    assert!(locked.err.contains("core-relo.lock: has no kernels of debian:12@x86_64"), "{}", locked.err);
    let updated = project.run("kernels update --format json");
    common::schema().check("kernels update", &updated.lines()[0]);

    project.apt.add_kernel("6.1.0-3-amd64", "6.1.12-1");
    project.apt.write_index("");
    let pinned = project.run(&format!("{check} --locked"));
    assert!(pinned.rows()[0].contains("debian:12/6.1.0-2-amd64"), "{}{}", pinned.out, pinned.err);
    let updated = project.run("kernels update");
    assert_eq!(updated.out, "- debian:12/6.1.0-2-amd64 6.1.9-1\n+ debian:12/6.1.0-3-amd64 6.1.12-1\n");
    let moved = project.run(&format!("{check} --locked"));
    assert!(moved.rows()[0].contains("debian:12/6.1.0-3-amd64"), "{}{}", moved.out, moved.err);
    assert_eq!(fs::read_to_string(project.project().join("core-relo.lock")).unwrap().lines().count(), 2);
}

#[test]
fn wrong_specifications_and_too_many_kernels_are_refused_before_a_download() {
    let Some(project) = Project::new() else { return };
    for (arguments, message) in [
        (
            "kernels fetch debain:12",
            "unknown distribution `debain`; near: debian; known: debian, ubuntu, rocky",
        ),
        ("kernels fetch debian:12/claud@amd64", "no flavour `claud`; near: cloud"),
        ("kernels fetch debian:12/6.6@amd64", "selects none of 3 kernels; versions: 6.1.9, 6.1.1"),
        ("kernels fetch debian:12/all@amd64 --max-kernels 1", "2 kernels, 1 MiB, expected at most 1"),
        ("kernels fetch debian:21", "unknown release `21` of debian"),
        ("kernels fetch debian:21", "; the mirror has 12 (bookworm)"),
        ("kernels fetch debian:12 --mirror debain=file:///x", "unknown name `debain`"),
        ("kernels fetch debian:12 --mirror debian=ftp://x", "is no address of a mirror"),
    ] {
        let run = project.run(arguments);
        assert_eq!((run.exit, &*run.out), (2, ""), "{arguments}");
        assert!(run.err.contains(message), "{arguments}: {}", run.err);
    }
    assert!(!Path::new(&project.dir.path().join("cache/core-relo/kernels/kernels")).exists());
}

/// Protects a job from taking verdicts for real loads.
#[test]
fn a_boot_without_an_image_that_boots_is_an_error() {
    let Some(project) = Project::new() else { return };
    let none = project.run(&format!("check {} --boot", object()));
    let expected = "--boot: no image is given; expected --boot VMLINUZ..., or kernels with --kernels SPEC";
    assert_eq!(none.exit, 2);
    assert!(none.err.contains(expected), "{}", none.err);
    // The image of the small repository is BTF, so the kernel is only judged.
    let judged = project.run(&format!("check {} --kernels debian:12@amd64 --boot", object()));
    assert_eq!(judged.exit, 2, "{}{}", judged.out, judged.err);
    let expected =
        "--boot: 0 of 1 kernels boot; only judged: debian:12/6.1.0-2-amd64 (not bootable: no known format)";
    assert!(judged.err.contains(expected), "{}", judged.err);
    assert!(judged.rows()[0].starts_with("loads"), "{}", judged.out);
    let vm = project.run(&format!("vm {} --kernels debian:12@amd64 --offline", object()));
    assert_eq!(vm.exit, 2);
    assert!(vm.err.contains("vmlinuz-6.1.0-2-amd64: not a bootable kernel image"), "{}", vm.err);
}

#[test]
fn files_of_modules_are_kept_on_demand() {
    let Some(project) = Project::new() else { return };
    let fetched = project.run("kernels fetch debian:12@amd64 --modules xfs");
    assert_eq!(fetched.exit, 0, "{}", fetched.err);
    let stored = || {
        let kernels = fs::read_dir(project.dir.path().join("cache/core-relo/kernels/kernels")).unwrap();
        let dirs = kernels.flatten().map(|kernel| kernel.path().join("ko/xfs.ko"));
        dirs.filter(|file| file.is_file()).count()
    };
    assert_eq!(stored(), 1);
    let missing = project.run("kernels fetch debian:12@amd64 --modules xfs,no-such");
    assert_eq!(missing.exit, 2);
    assert!(
        missing.err.contains("debian:12/6.1.0-2-amd64: no module no_such in its packages"),
        "{}",
        missing.err
    );
    let offline = project.run("kernels fetch debian:12@amd64 --modules no-such --offline");
    assert_eq!(offline.exit, 2);
    assert!(offline.err.contains("the store has no files of the modules no_such"), "{}", offline.err);
    // Nobody sees a file whose package has another hash than the index.
    assert_eq!(stored(), 1);
}
