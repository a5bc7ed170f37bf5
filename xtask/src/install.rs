//! Installs missing tools with the system's package manager and prints each step.

use std::process::{Command, Stdio};

use crate::system::{check, is_installed, output};

/// The package names of a tool in four package managers.
struct Packages<'p> {
    apt: &'p [&'p str],
    dnf: &'p [&'p str],
    apk: &'p [&'p str],
    pacman: &'p [&'p str],
}

/// Installs clang.
pub fn clang() -> bool {
    install("clang", &Packages { apt: &["clang"], dnf: &["clang"], apk: &["clang"], pacman: &["clang"] })
}

/// Installs the build tools of libbpf, with which the tests compare: a C compiler, make, pkg-config, libelf,
/// zlib. Returns the ones that are still missing.
pub fn libbpf_build_tools(may_install: bool) -> Option<String> {
    let missing = missing_for_libbpf()?;
    if may_install {
        eprintln!("not found, but needed to build libbpf: {missing}");
        install(
            "the build tools of libbpf",
            &Packages {
                apt: &["build-essential", "pkg-config", "libelf-dev", "zlib1g-dev"],
                dnf: &["gcc", "make", "pkgconf-pkg-config", "elfutils-libelf-devel", "zlib-devel"],
                apk: &["build-base", "pkgconf", "elfutils-dev", "zlib-dev", "linux-headers"],
                pacman: &["base-devel", "libelf", "zlib"],
            },
        );
    }
    missing_for_libbpf()
}

/// Installs QEMU for an architecture. Debian's packages are given.
pub fn emulator(debian: &[&'static str]) -> bool {
    let apt: Vec<&str> = [&["--no-install-recommends"], debian].concat();
    let everywhere = &["qemu-system-x86"];
    // Other distributions have packages of other names for the rest, so only x86-64 is installed there.
    let is_x86 = debian == everywhere;
    let others: [&[&str]; 3] =
        if is_x86 { [&["qemu-system-x86-core"], &["qemu-system-x86_64"], everywhere] } else { [&[]; 3] };
    let [dnf, apk, pacman] = others;
    (is_x86 || is_installed("apt-get")) && install("QEMU", &Packages { apt: &apt, dnf, apk, pacman })
}

/// Installs a static busybox of the host's architecture.
pub fn busybox() -> bool {
    install(
        "a static busybox",
        &Packages {
            apt: &["busybox-static"],
            dnf: &["busybox"],
            apk: &["busybox-static"],
            pacman: &["busybox"],
        },
    )
}

/// Installs valgrind, which counts instructions.
pub fn valgrind() -> bool {
    let everywhere = &["valgrind"];
    install("valgrind", &Packages { apt: everywhere, dnf: everywhere, apk: everywhere, pacman: everywhere })
}

/// Installs debootstrap, which makes a new Debian.
pub fn debootstrap() -> bool {
    let everywhere = &["debootstrap"];
    install(
        "debootstrap",
        &Packages { apt: everywhere, dnf: everywhere, apk: everywhere, pacman: everywhere },
    )
}

/// Installs a C compiler and library for a foreign architecture (Debian's names).
pub fn cross(debian: &[&'static str; 2]) -> bool {
    let apt = &[&["--no-install-recommends"], debian.as_slice()].concat();
    // Other distributions have no common names for these packages, so what needs them is skipped there.
    is_installed("apt-get") && install("a cross compiler", &Packages { apt, dnf: &[], apk: &[], pacman: &[] })
}

/// Installs a C compiler and library for a foreign architecture (Debian's names), and QEMU's user-mode
/// emulation.
pub fn user_mode_cross(debian: &[&'static str; 2]) -> bool {
    let emulation =
        Packages { apt: &["--no-install-recommends", "qemu-user"], dnf: &[], apk: &[], pacman: &[] };
    cross(debian) && install("QEMU's user-mode emulation", &emulation)
}

/// Installs the missing ones of the decompressors that kernel images need.
pub fn decompressors() {
    if ["xz", "lz4", "zstd"].iter().all(|tool| is_installed(tool)) {
        return;
    }
    let others = &["xz", "lz4", "zstd"];
    install(
        "decompressors",
        &Packages { apt: &["xz-utils", "lz4", "zstd"], dnf: others, apk: others, pacman: others },
    );
}

fn missing_for_libbpf() -> Option<String> {
    let mut missing: Vec<&str> =
        ["cc", "make", "pkg-config"].into_iter().filter(|tool| !is_installed(tool)).collect();
    for header in ["libelf.h", "zlib.h"] {
        if !has_header(header) {
            missing.push(header);
        }
    }
    if missing.is_empty() { None } else { Some(missing.join(", ")) }
}

fn has_header(name: &str) -> bool {
    let mut cc = Command::new("cc");
    cc.args(["-E", "-x", "c", "-include", name, "/dev/null"]);
    output(&mut cc).is_some()
}

fn install(what: &str, packages: &Packages<'_>) -> bool {
    let managers = [
        ("apt-get", ["install", "-y"].as_slice(), packages.apt),
        ("dnf", &["install", "-y"], packages.dnf),
        ("apk", &["add"], packages.apk),
        ("pacman", &["-S", "--noconfirm"], packages.pacman),
    ];
    let Some((manager, verb, names)) = managers.into_iter().find(|(manager, ..)| is_installed(manager))
    else {
        eprintln!("cannot install {what}: no known package manager");
        return false;
    };
    let Some(prefix) = privilege() else {
        eprintln!(
            "cannot install {what}: neither root nor sudo without a password; try: {manager} {} {}",
            verb.join(" "),
            names.join(" ")
        );
        return false;
    };
    eprintln!("installing {what} with {manager}: {}", names.join(" "));
    let command = |args: &[&str]| {
        let words: Vec<&str> = prefix.iter().copied().chain([manager]).chain(args.iter().copied()).collect();
        let mut command = Command::new(words.first().copied().unwrap_or(manager));
        command.args(words.iter().skip(1)).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command.stdout(Stdio::null());
        command
    };
    // Stale package lists often still serve; only the installation decides.
    if manager == "apt-get"
        && let Err(error) = check(&mut command(&["update"]))
    {
        eprintln!("{error}");
    }
    let all: Vec<&str> = verb.iter().chain(names).copied().collect();
    match check(&mut command(&all)) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("{error}");
            false
        }
    }
}

/// Returns the prefix of a command that needs root: empty for root, else sudo if it needs no password.
fn privilege() -> Option<&'static [&'static str]> {
    if output(Command::new("id").arg("-u"))?.trim() == "0" {
        return Some(&[]);
    }
    output(Command::new("sudo").args(["-n", "true"])).map(|_| ["sudo", "-n"].as_slice())
}
