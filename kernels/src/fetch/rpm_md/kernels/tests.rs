//! The kernels of distributions, by the packages in their lists.

use super::*;
use crate::fetch::{
    distribution::IndexFormat,
    rpm_md::primary::{
        read_packages,
        tests::{list_xml, package_xml},
    },
};

/// Returns the kernels in a list of a release of a distribution: release, flavour, line, and the names of
/// their packages.
fn find(
    name: &str,
    release: &str,
    suite: usize,
    packages: &[String],
) -> Vec<(String, String, KernelLine, String)> {
    let list = read_packages(list_xml(packages).as_bytes()).ok().unwrap();
    let distribution = Distribution::from_name(name).unwrap();
    let IndexFormat::RpmMd(layout) = distribution.format else { panic!("{name}") };
    let release = distribution.release(release).unwrap();
    let origin = ListOrigin {
        distribution,
        layout,
        release,
        suite: &release.suites[suite],
        architecture: Architecture::from_name("x86_64").unwrap(),
        protection: &Protection::Tls,
        path: "os",
    };
    let kernels = find_kernels(&list, origin).unwrap();
    let names = |kernel: &AvailableKernel| {
        kernel.packages.iter().map(|package| package.name.clone()).collect::<Vec<_>>().join(" ")
    };
    kernels
        .iter()
        .map(|kernel| (kernel.release.clone(), kernel.flavour.clone(), kernel.line, names(kernel)))
        .collect()
}

fn package(name: &str, version: &str, release: &str) -> String {
    package_xml(name, version, release, &[])
}

fn meta(name: &str, version: &str, release: &str) -> String {
    package(name, version, release).replace("installed=\"90000000\"", "installed=\"0\"")
}

fn found(
    release: &str,
    flavour: &str,
    line: KernelLine,
    names: &str,
) -> (String, String, KernelLine, String) {
    (release.to_owned(), flavour.to_owned(), line, names.to_owned())
}

#[test]
fn kernels_of_enterprise_linux_are_in_several_packages() {
    let (version, release) = ("5.14.0", "427.13.1.el9_4");
    let uname = "5.14.0-427.13.1.el9_4.x86_64";
    let rt = format!("{uname}+rt");
    let list = [
        meta("kernel", version, release),
        package_xml("kernel-core", version, release, &[("kernel-uname-r", uname)]),
        package("kernel-modules-core", version, release),
        package("kernel-modules", version, release),
        package("kernel-modules-extra", version, release),
        package("kernel-modules", version, "362.el9"),
        package("kernel-devel", version, release),
        package("kernel-tools", version, release),
        package("kernel-uki-virt", version, release),
        package("kernel-debuginfo-common-x86_64", version, release),
        package_xml("kernel-rt-core", version, release, &[("kernel-uname-r", &rt)]),
        package("kernel-rt-modules", version, release),
    ];
    assert_eq!(
        find("rhel", "9", 0, &list),
        [
            found(
                uname,
                "generic",
                KernelLine::Default,
                "kernel-core kernel-modules-core kernel-modules kernel-modules-extra"
            ),
            found(&rt, "rt", KernelLine::Default, "kernel-rt-core kernel-rt-modules"),
        ]
    );
    // Without the release among what the package provides.
    let list = [package("kernel-core", "4.18.0", "553.el8_10")];
    assert_eq!(find("alma", "8", 0, &list)[0].0, "4.18.0-553.el8_10.x86_64");
}

#[test]
fn kernels_of_other_distributions_have_their_names() {
    let suse = [
        package("kernel-default", "6.4.0", "150600.23.65.1"),
        package("kernel-default-extra", "6.4.0", "150600.23.65.1"),
        package("kernel-default-base", "6.4.0", "150600.23.65.1.150600.12.28.1"),
        package("kernel-azure", "6.4.0", "150600.8.40.1"),
    ];
    assert_eq!(
        find("opensuse", "15.6", 1, &suse),
        [
            found(
                "6.4.0-150600.23.65-default",
                "generic",
                KernelLine::Default,
                "kernel-default kernel-default-extra"
            ),
            found("6.4.0-150600.8.40-azure", "azure", KernelLine::Default, "kernel-azure"),
        ]
    );
    let azure =
        [package("kernel", "6.6.64.2", "7.azl3"), package("kernel-drivers-gpu", "6.6.64.2", "7.azl3")];
    let expected = found("6.6.64.2-7.azl3", "generic", KernelLine::Default, "kernel kernel-drivers-gpu");
    assert_eq!(find("azurelinux", "3", 0, &azure), [expected]);
    let oracle = [
        meta("kernel-uek", "5.15.0", "300.163.18.el9uek"),
        package("kernel-uek-core", "5.15.0", "300.163.18.el9uek"),
        package("kernel-uek-modules", "5.15.0", "300.163.18.el9uek"),
    ];
    assert_eq!(
        find("oracle", "9", 2, &oracle),
        [found(
            "5.15.0-300.163.18.el9uek.x86_64",
            "uek",
            KernelLine::Default,
            "kernel-uek-core kernel-uek-modules"
        )]
    );
    let uek6 = [package("kernel-uek", "5.4.17", "2136.el8uek")];
    assert_eq!(find("oracle", "8", 2, &uek6)[0].3, "kernel-uek");
}

#[test]
fn the_kernels_of_amazon_linux_are_of_several_series() {
    let list = [
        package("kernel", "6.1.119", "129.201.amzn2023"),
        package("kernel6.12", "6.12.20", "23.97.amzn2023"),
        package("kernel6.12-modules-extra", "6.12.20", "23.97.amzn2023"),
    ];
    let default = found("6.1.119-129.201.amzn2023.x86_64", "generic", KernelLine::Default, "kernel");
    let additional = found(
        "6.12.20-23.97.amzn2023.x86_64",
        "generic",
        KernelLine::Additional,
        "kernel6.12 kernel6.12-modules-extra",
    );
    assert_eq!(find("amazon", "2023", 0, &list), [default, additional]);
    let list = [package("kernel", "4.14.355", "275.572.amzn2")];
    let lines = [0, 3].map(|suite| find("amazon", "2", suite, &list)[0].2);
    assert_eq!(lines, [KernelLine::Default, KernelLine::Additional]);
}

/// A path that leaves the mirror would be a request for another file, or a file of this machine.
#[test]
fn damaged_packages_are_no_kernels() {
    let entry = package("kernel-core", "5.14.0", "1.el9");
    let list = |entry: &str| read_packages(list_xml(&[entry.to_owned()]).as_bytes()).ok().unwrap();
    let distribution = Distribution::from_name("rocky").unwrap();
    let IndexFormat::RpmMd(layout) = distribution.format else { panic!("rocky") };
    let release = distribution.release("9").unwrap();
    let find = |entry: &str| {
        let origin = ListOrigin {
            distribution,
            layout,
            release,
            suite: &release.suites[0],
            architecture: Architecture::from_name("x86_64").unwrap(),
            protection: &Protection::None,
            path: "9/BaseOS",
        };
        find_kernels(&list(entry), origin)
    };
    assert_eq!(find(&entry).unwrap().len(), 1);
    let path = entry.replace("href=\"Packages/", "href=\"../../../");
    assert!(matches!(find(&path), Err(RpmMdDefect::UnsafePath { .. })));
    assert_eq!(find(&entry.replace("rel=\"1.el9\"", "rel=\"1/../x\"")), Ok(Vec::new()));
}
