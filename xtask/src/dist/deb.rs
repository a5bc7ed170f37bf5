//! Packages of Debian (deb(5)).

use super::files::Files;
use super::platform::Platform;
use super::release::Release;
use super::tar::{gzip, tar};
use super::{DESCRIPTION, MAINTAINER, REVISION, SUMMARY};
use crate::system::Outcome;

/// Returns a package with files.
pub fn package(release: &Release, platform: &Platform, files: &Files) -> Outcome<Vec<u8>> {
    let mut control = Files::default();
    control.add("control", control_file(release, platform, files));
    let control = gzip(&tar(&control, "./", release.time)?)?;
    let data = gzip(&tar(files, "./", release.time)?)?;
    let mut package = b"!<arch>\n".to_vec();
    for (name, data) in
        [("debian-binary", &b"2.0\n"[..]), ("control.tar.gz", &control), ("data.tar.gz", &data)]
    {
        package.extend(member(name, data, release.time));
    }
    Ok(package)
}

/// Returns a member of an ar archive (ar(5)): name, time, user, group, mode, size.
fn member(name: &str, data: &[u8], time: u64) -> Vec<u8> {
    let header = format!("{name:16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 100_644, data.len());
    let mut member = [header.as_bytes(), data].concat();
    member.resize(member.len().next_multiple_of(2), b'\n');
    member
}

fn control_file(release: &Release, platform: &Platform, files: &Files) -> String {
    let kibibytes = files.bytes().div_ceil(1024);
    // A line of a long description begins with a blank, a paragraph is separated by a dot.
    let description = DESCRIPTION.replace("\n\n", "\n.\n").replace('\n', "\n ");
    format!(
        "Package: core-relo\nVersion: {}-{REVISION}\nArchitecture: {}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {kibibytes}\nRecommends: ca-certificates, gpgv | sqv\nSuggests: qemu-system\n\
         Section: devel\nPriority: optional\nDescription: {SUMMARY}\n {description}\n",
        release.version, platform.debian
    )
}
