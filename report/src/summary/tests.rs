//! Summaries of outcomes: boundaries, gaps, exceptions, architectures.

use super::*;
use crate::test_fleet::version;
use core_relo_verdict::kernel::{DistributionKernel, KernelVersion};

const LOADS: Outcome = Outcome::Loads;
const REFUSED: Outcome = Outcome::Refused;
const UNKNOWN: Outcome = Outcome::Unknown;

fn kernel<'r>(architecture: Option<&'r str>, version: Option<KernelVersion>, name: &'r str) -> Kernel<'r> {
    Kernel { architecture, distribution: None, version, name, short_name: name }
}

/// Summarizes outcomes on x86_64 kernels of these versions.
fn x86(outcomes: &[(KernelVersion, Outcome)]) -> String {
    let kernels: Vec<_> =
        outcomes.iter().map(|(version, _)| kernel(Some("x86_64"), Some(*version), "k")).collect();
    text(&kernels, &outcomes.iter().map(|(_, outcome)| Some(*outcome)).collect::<Vec<_>>())
}

fn text(kernels: &[Kernel<'_>], outcomes: &[Option<Outcome>]) -> String {
    summarize(kernels, outcomes).text(&|name| format!("`{name}`"))
}

#[test]
fn boundaries_follow_versions() {
    let (v54, v510, v515, v61) = (version(5, 4, 0), version(5, 10, 3), version(5, 15, 7), version(6, 1, 0));
    assert_eq!(x86(&[(v54, LOADS), (v61, LOADS)]), "loads on both kernels");
    assert_eq!(x86(&[(v54, REFUSED)]), "refused on `k`");
    assert_eq!(
        x86(&[(v54, REFUSED), (v510, REFUSED), (v515, LOADS), (v61, LOADS)]),
        "loads from 5.15 on, refused before 5.15"
    );
    assert_eq!(
        x86(&[(v54, LOADS), (v510, LOADS), (v515, REFUSED)]),
        "loads until 5.10, refused from 5.15 on"
    );
    assert_eq!(
        x86(&[(v54, REFUSED), (v510, UNKNOWN), (v515, LOADS)]),
        "loads from 5.15 on, unknown on 5.10, refused before 5.10"
    );
}

#[test]
fn gaps_are_named() {
    let (v54, v510, v515, v61) = (version(5, 4, 0), version(5, 10, 3), version(5, 15, 7), version(6, 1, 0));
    assert_eq!(
        x86(&[(v54, LOADS), (v510, REFUSED), (v515, REFUSED), (v61, LOADS)]),
        "loads until 5.4 and from 6.1 on, refused from 5.10 to 5.15"
    );
    assert_eq!(
        x86(&[(v54, REFUSED), (v510, LOADS), (v515, LOADS), (v61, REFUSED)]),
        "loads from 5.10 to 5.15, refused before 5.10 and from 6.1 on"
    );
    let alternating: Vec<_> =
        (0..6).map(|minor| (version(6, minor, 0), if minor % 2 == 0 { LOADS } else { REFUSED })).collect();
    assert_eq!(x86(&alternating), "loads on `k`, `k` and `k`, refused on `k`, `k` and `k`");
    let many: Vec<_> =
        (0..8).map(|minor| (version(6, minor, 0), if minor % 2 == 0 { LOADS } else { REFUSED })).collect();
    assert_eq!(x86(&many), "loads on 4 of 8 kernels, refused on `k` and 3 more of 8 kernels");
}

#[test]
fn patch_levels_appear_where_they_matter() {
    assert_eq!(
        x86(&[(version(5, 15, 0), REFUSED), (version(5, 15, 9), LOADS), (version(6, 1, 4), LOADS)]),
        "loads from 5.15.9 on, refused before 5.15.9"
    );
}

#[test]
fn kernels_that_differ_from_others_of_their_version_are_named() {
    let x86 = |name, version| kernel(Some("x86_64"), Some(version), name);
    let kernels = [
        x86("centos", version(4, 18, 0)),
        x86("debian", version(4, 18, 0)),
        x86("ubuntu", version(4, 18, 0)),
        x86("v5.4", version(5, 4, 0)),
        x86("v5.15", version(5, 15, 0)),
    ];
    let outcomes = |outcomes: [Outcome; 5]| text(&kernels, &outcomes.map(Some));
    assert_eq!(
        outcomes([LOADS, REFUSED, REFUSED, REFUSED, LOADS]),
        "loads from 5.15 on and on `centos`, refused before 5.15 except on `centos`"
    );
    assert_eq!(
        outcomes([REFUSED, LOADS, LOADS, LOADS, LOADS]),
        "loads on all checked versions except on `centos`, refused on `centos`"
    );
    assert_eq!(
        outcomes([UNKNOWN, LOADS, REFUSED, LOADS, LOADS]),
        "loads from 5.4 on and on `debian`, unknown on `centos`, refused before 5.4 except on `centos` and `debian`"
    );
}

#[test]
fn architectures_with_equal_boundaries_are_joined() {
    let (x86, arm) = (Some("x86_64"), Some("arm64"));
    let kernels = [
        kernel(arm, Some(version(5, 10, 0)), "a1"),
        kernel(arm, Some(version(5, 15, 0)), "a2"),
        kernel(x86, Some(version(5, 10, 0)), "x1"),
        kernel(x86, Some(version(5, 15, 0)), "x2"),
    ];
    let all = |outcomes: [Outcome; 4]| text(&kernels, &outcomes.map(Some));
    assert_eq!(all([REFUSED, LOADS, REFUSED, LOADS]), "loads from 5.15 on, refused before 5.15");
    assert_eq!(
        all([REFUSED, REFUSED, REFUSED, LOADS]),
        "`arm64`: refused on both kernels; `x86_64`: loads from 5.15 on, refused before 5.15"
    );
    assert_eq!(all([LOADS; 4]), "loads on all 4 kernels");
    let name = |name: &str| name.to_owned();
    let problems = |outcomes: [Outcome; 4]| summarize(&kernels, &outcomes.map(Some)).problems(&name);
    assert_eq!(problems([LOADS, LOADS, REFUSED, LOADS]), "x86_64: refused before 5.15");
    assert_eq!(problems([LOADS; 4]), "");
}

#[test]
fn kernels_without_version_are_named() {
    let kernels = [
        kernel(None, None, "one"),
        kernel(None, None, "two"),
        kernel(Some("arm64"), Some(version(6, 1, 0)), "six"),
    ];
    assert_eq!(text(&kernels, &[Some(LOADS), Some(REFUSED), None]), "loads on `one`, refused on `two`");
    assert_eq!(
        text(&kernels, &[Some(LOADS), Some(REFUSED), Some(LOADS)]),
        "`arm64`: loads on `six`; kernels of unknown architecture and version: loads on `one`, refused on `two`"
    );
    assert_eq!(text(&kernels, &[Some(LOADS), None, Some(LOADS)]), "loads on both kernels");
    let versions =
        [version(5, 10, 0), version(6, 1, 0)].map(|known| kernel(None, Some(known), "of a version"));
    let kernels = [versions[0], versions[1], kernels[0], kernels[1]];
    assert_eq!(
        text(&kernels, &[Some(REFUSED), Some(LOADS), Some(LOADS), Some(REFUSED)]),
        "kernels of known version: loads from 6.1 on, refused before 6.1; kernels of unknown version: loads on `one`, refused on \
         `two`"
    );
    assert_eq!(text(&[], &[]), "");
}

#[test]
fn sets_of_kernels_are_described() {
    let x86 = Some("x86_64");
    let kernels = [
        kernel(x86, Some(version(5, 4, 0)), "a"),
        kernel(x86, Some(version(5, 10, 0)), "b"),
        kernel(x86, Some(version(6, 1, 0)), "c"),
    ];
    let set = |set: &[usize]| describe_kernels(&kernels, &[Some(LOADS); 3], set, &str::to_owned);
    assert_eq!(
        [set(&[0, 1]), set(&[2]), set(&[1]), set(&[0, 1, 2])],
        ["before 6.1", "from 6.1 on", "on 5.10", "on all 3 kernels"]
    );
}

/// Returns the package of an x86-64 kernel.
fn package(distribution: &str, release: &str) -> DistributionKernel {
    DistributionKernel::new(distribution, release, "1-1", "x86_64").unwrap()
}

fn packaged<'r>(package: &'r DistributionKernel, version: KernelVersion, name: &'r str) -> Kernel<'r> {
    let architecture = Some(package.architecture.as_str());
    Kernel { distribution: Some(package), ..kernel(architecture, Some(version), name) }
}

#[test]
fn distributions_are_summed_up_by_their_releases() {
    let [eleven, twelve, sid] = ["11", "12", "sid"].map(|release| package("debian", release));
    let [focal, jammy] = ["20.04", "22.04"].map(|release| package("ubuntu", release));
    let debian = [
        packaged(&eleven, version(5, 10, 0), "d11"),
        packaged(&twelve, version(6, 1, 100), "d12-old"),
        packaged(&twelve, version(6, 1, 192), "d12"),
        packaged(&sid, version(7, 2, 0), "sid"),
    ];
    let of_debian = |outcomes: [Outcome; 4]| text(&debian, &outcomes.map(Some));
    assert_eq!(of_debian([LOADS; 4]), "loads on all 4 kernels");
    assert_eq!(of_debian([REFUSED, LOADS, LOADS, LOADS]), "`debian`: loads from 12 on, refused before 12");
    assert_eq!(
        of_debian([REFUSED, REFUSED, LOADS, LOADS]),
        "`debian`: loads from 12 (6.1.192) on, refused before 12 (6.1.192)"
    );
    let ubuntu = [packaged(&focal, version(5, 4, 0), "u20"), packaged(&jammy, version(5, 15, 0), "u22")];
    let both = [&debian[..], &ubuntu].concat();
    let of_both = |outcomes: [Outcome; 6]| text(&both, &outcomes.map(Some));
    assert_eq!(of_both([LOADS; 6]), "loads on all 6 kernels");
    assert_eq!(
        of_both([REFUSED, LOADS, LOADS, LOADS, REFUSED, LOADS]),
        "`debian`: loads from 12 on, refused before 12; `ubuntu`: loads from 22.04 on, refused before 22.04"
    );
    let own = kernel(Some("x86_64"), Some(version(6, 18, 0)), "own");
    let mixed = [debian[0], debian[1], own];
    assert_eq!(
        text(&mixed, &[Some(REFUSED), Some(LOADS), Some(LOADS)]),
        "`debian`: loads from 12 on, refused before 12; `x86_64`: loads on `own`"
    );
    let set = |set: &[usize]| describe_kernels(&debian, &[Some(LOADS); 4], set, &str::to_owned);
    assert_eq!([set(&[0]), set(&[0, 1, 2, 3])], ["debian before 12", "on all 4 kernels"]);
}

#[test]
fn releases_of_several_architectures_are_named_with_them() {
    let [old, new] = ["11", "12"].map(|release| package("debian", release));
    let [arm_old, arm] =
        ["11", "12"].map(|release| DistributionKernel::new("debian", release, "1-1", "aarch64").unwrap());
    let kernels = [
        packaged(&old, version(5, 10, 0), "x1"),
        packaged(&new, version(6, 1, 0), "x2"),
        packaged(&arm_old, version(5, 10, 0), "a1"),
        packaged(&arm, version(6, 1, 0), "a2"),
    ];
    let all = |outcomes: [Outcome; 4]| text(&kernels, &outcomes.map(Some));
    assert_eq!(
        all([REFUSED, LOADS, REFUSED, LOADS]),
        "`debian` (`aarch64`, `x86_64`): loads from 12 on, refused before 12"
    );
    assert_eq!(
        all([REFUSED, LOADS, LOADS, LOADS]),
        "`debian` (`aarch64`): loads on both kernels; `debian` (`x86_64`): loads from 12 on, refused before 12"
    );
}
