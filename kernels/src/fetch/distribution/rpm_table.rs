//! The table of distributions with rpm-md repositories: the addresses of their own hosts, the paths of their
//! repositories, the packages of their kernels.
//!
//! | what | source |
//! |---|---|
//! | addresses and paths | mock-core-configs, `etc/mock/templates/*.tpl`; mkosi, `mkosi/distributions/*.py` |
//! | packages of Fedora and its derivatives | `kernel.spec` of Fedora: `kernel_variant_package`, `kernel_reqprovconf` |
//! | packages of Oracle | `uek-rpm/*/kernel-uek.spec` of linux-uek |
//! | packages of openSUSE | `rpm/kernel-binary.spec.in`, `rpm/kernel-spec-macros` of kernel-source |
//! | packages of Azure Linux | `SPECS/kernel/kernel.spec` of azurelinux |
//! | repositories of Amazon Linux | `kernel_crawler/amazonlinux.py` of kernel-crawler |

use super::{Archive, Distribution, DistributionRelease, GENERIC, IndexFormat, Suite};
use crate::fetch::rpm_layout::{DebugRule, ImagePackage, OtherMirror, ReleaseRule, RpmLayout};

const fn suite(name: &'static str) -> Suite {
    Suite { name, archive: Archive::Main, is_backports: false }
}

const fn release(number: &'static str, suites: &'static [Suite]) -> DistributionRelease {
    DistributionRelease { number, code_name: number, suites }
}

const fn image(name: &'static str, flavour: &'static str) -> ImagePackage {
    ImagePackage { name, flavour, is_additional: false }
}

const fn additional_image(name: &'static str, flavour: &'static str) -> ImagePackage {
    ImagePackage { name, flavour, is_additional: true }
}

/// The images of Fedora and its derivatives: `lib/modules/R/vmlinuz`, with `config` and `System.map`.
const FEDORA_IMAGES: [ImagePackage; 8] = [
    image("kernel-core", GENERIC),
    image("kernel-rt-core", "rt"),
    image("kernel-64k-core", "64k"),
    image("kernel-16k-core", "16k"),
    image("kernel-rt-64k-core", "rt-64k"),
    image("kernel-zfcpdump-core", "zfcpdump"),
    image("kernel-debug-core", "debug"),
    image("kernel-rt-debug-core", "rt-debug"),
];

/// The layout of Enterprise Linux: `9/BaseOS/x86_64/os`, and `9/BaseOS/x86_64/debug/tree`.
///
/// Before EL 9.2 and Fedora 38, `kernel-core` has the modules of `kernel-modules-core`.
const fn enterprise_layout(keys: &'static [&'static str]) -> RpmLayout {
    RpmLayout {
        images: &FEDORA_IMAGES,
        modules: &["-modules-core", "-modules"],
        extra_modules: &["-modules-extra"],
        release_rule: ReleaseRule::WithArchitecture,
        additional_suites: &[],
        other_mirrors: &[],
        debug_rules: &[DebugRule { part: "$basearch/os", replacement: "$basearch/debug/tree" }],
        keys,
        requires_signature: false,
    }
}

const fn distribution(
    name: &'static str,
    address: &'static str,
    layout: &'static RpmLayout,
    releases: &'static [DistributionRelease],
) -> Distribution {
    Distribution {
        name,
        format: IndexFormat::RpmMd(layout),
        default_mirror: Some(address),
        keyring: "",
        components: &[],
        releases,
    }
}

const EL8: [Suite; 2] = [suite("8/BaseOS/$basearch/os"), suite("8/RT/$basearch/os")];
const EL9: [Suite; 2] = [suite("9/BaseOS/$basearch/os"), suite("9/RT/$basearch/os")];
const EL10: [Suite; 2] = [suite("10/BaseOS/$basearch/os"), suite("10/RT/$basearch/os")];
const ENTERPRISE: [DistributionRelease; 3] = [release("8", &EL8), release("9", &EL9), release("10", &EL10)];

const ROCKY_LAYOUT: RpmLayout = enterprise_layout(&[
    "RPM-GPG-KEY-rockyofficial",
    "RPM-GPG-KEY-Rocky-9",
    "RPM-GPG-KEY-Rocky-10",
    "rocky/RPM-GPG-KEY-rockyofficial",
    "rocky/RPM-GPG-KEY-Rocky-9",
    "rocky/RPM-GPG-KEY-Rocky-10",
]);

/// Rocky Linux, which rebuilds the source packages of RHEL.
pub(super) const ROCKY: Distribution =
    distribution("rocky", "https://dl.rockylinux.org/pub/rocky", &ROCKY_LAYOUT, &ENTERPRISE);

const ALMA_LAYOUT: RpmLayout = RpmLayout {
    debug_rules: &[DebugRule { part: "$basearch/os", replacement: "debug/$basearch" }],
    ..enterprise_layout(&[
        "RPM-GPG-KEY-AlmaLinux",
        "RPM-GPG-KEY-AlmaLinux-8",
        "RPM-GPG-KEY-AlmaLinux-9",
        "RPM-GPG-KEY-AlmaLinux-10",
        "alma/RPM-GPG-KEY-AlmaLinux",
        "alma/RPM-GPG-KEY-AlmaLinux-8",
        "alma/RPM-GPG-KEY-AlmaLinux-9",
        "alma/RPM-GPG-KEY-AlmaLinux-10",
    ])
};

/// AlmaLinux.
pub(super) const ALMA: Distribution =
    distribution("alma", "https://repo.almalinux.org/almalinux", &ALMA_LAYOUT, &ENTERPRISE);

const STREAM8: [Suite; 2] = [suite("8-stream/BaseOS/$basearch/os"), suite("8-stream/RT/$basearch/os")];
const STREAM9: [Suite; 2] = [suite("9-stream/BaseOS/$basearch/os"), suite("9-stream/RT/$basearch/os")];
const STREAM10: [Suite; 2] = [suite("10-stream/BaseOS/$basearch/os"), suite("10-stream/RT/$basearch/os")];

const CENTOS_STREAM_LAYOUT: RpmLayout = RpmLayout {
    // Release 8 has ended.
    other_mirrors: &[OtherMirror {
        releases: &["8"],
        architectures: &[],
        address: "https://vault.centos.org/centos",
    }],
    ..enterprise_layout(&[
        "RPM-GPG-KEY-centosofficial",
        "RPM-GPG-KEY-centosofficial-SHA256",
        "centos/RPM-GPG-KEY-CentOS-Official",
        "centos/RPM-GPG-KEY-CentOS-Official-SHA256",
    ])
};

/// CentOS Stream.
pub(super) const CENTOS_STREAM: Distribution = distribution(
    "centos-stream",
    "https://mirror.stream.centos.org",
    &CENTOS_STREAM_LAYOUT,
    &[release("8", &STREAM8), release("9", &STREAM9), release("10", &STREAM10)],
);

/// The architectures of Fedora that have a mirror of their own.
const FEDORA_SECONDARY: [&str; 2] = ["ppc64le", "s390x"];

/// Fedora's indexes have no signature. Its metalinks have their hashes, and are read by TLS like the indexes.
const FEDORA_LAYOUT: RpmLayout = RpmLayout {
    other_mirrors: &[
        OtherMirror {
            releases: &["41", "42"],
            architectures: &FEDORA_SECONDARY,
            address: "https://archives.fedoraproject.org/pub/archive/fedora-secondary",
        },
        OtherMirror {
            releases: &["41", "42"],
            architectures: &[],
            address: "https://archives.fedoraproject.org/pub/archive/fedora/linux",
        },
        OtherMirror {
            releases: &[],
            architectures: &FEDORA_SECONDARY,
            address: "https://dl.fedoraproject.org/pub/fedora-secondary",
        },
    ],
    debug_rules: &[
        DebugRule { part: "$basearch/os", replacement: "$basearch/debug/tree" },
        DebugRule { part: "$basearch", replacement: "$basearch/debug" },
    ],
    ..enterprise_layout(&[])
};

const FEDORA41: [Suite; 2] =
    [suite("releases/41/Everything/$basearch/os"), suite("updates/41/Everything/$basearch")];
const FEDORA42: [Suite; 2] =
    [suite("releases/42/Everything/$basearch/os"), suite("updates/42/Everything/$basearch")];
const FEDORA43: [Suite; 2] =
    [suite("releases/43/Everything/$basearch/os"), suite("updates/43/Everything/$basearch")];
const FEDORA44: [Suite; 2] =
    [suite("releases/44/Everything/$basearch/os"), suite("updates/44/Everything/$basearch")];
const FEDORA45: [Suite; 2] =
    [suite("releases/45/Everything/$basearch/os"), suite("updates/45/Everything/$basearch")];
const RAWHIDE: [Suite; 1] = [suite("development/rawhide/Everything/$basearch/os")];

/// Fedora.
pub(super) const FEDORA: Distribution = distribution(
    "fedora",
    "https://dl.fedoraproject.org/pub/fedora/linux",
    &FEDORA_LAYOUT,
    &[
        release("41", &FEDORA41),
        release("42", &FEDORA42),
        release("43", &FEDORA43),
        release("44", &FEDORA44),
        release("45", &FEDORA45),
        release("rawhide", &RAWHIDE),
    ],
);

/// The kernels of Amazon Linux 2 are all named `kernel`, in a repository for each series. Those of 2023 are
/// in one repository, named by their series, except the first.
const AMAZON_IMAGES: [ImagePackage; 3] = [
    image("kernel", GENERIC),
    additional_image("kernel6.12", GENERIC),
    additional_image("kernel6.18", GENERIC),
];

/// The images that Amazon offers for Amazon Linux 2 have 5.10.
const AMAZON2: [Suite; 4] = [
    suite("2/extras/kernel-5.10/latest/$basearch/mirror.list"),
    suite("2/extras/kernel-5.15/latest/$basearch/mirror.list"),
    suite("2/extras/kernel-5.4/latest/$basearch/mirror.list"),
    suite("2/core/latest/$basearch/mirror.list"),
];
const AMAZON2023: [Suite; 1] = [suite("al2023/core/mirrors/latest/$basearch/mirror.list")];

const AMAZON_LAYOUT: RpmLayout = RpmLayout {
    images: &AMAZON_IMAGES,
    modules: &[],
    extra_modules: &["-modules-extra"],
    release_rule: ReleaseRule::WithArchitecture,
    additional_suites: &[
        "2/extras/kernel-5.15/latest/$basearch/mirror.list",
        "2/extras/kernel-5.4/latest/$basearch/mirror.list",
        "2/core/latest/$basearch/mirror.list",
    ],
    other_mirrors: &[],
    debug_rules: &[DebugRule { part: "latest/$basearch", replacement: "latest/debuginfo/$basearch" }],
    keys: &[
        "RPM-GPG-KEY-amazon-linux-2",
        "RPM-GPG-KEY-amazon-linux-2023",
        "amazon-linux/RPM-GPG-KEY-amazon-linux-2",
        "amazon-linux/RPM-GPG-KEY-amazon-linux-2023",
    ],
    requires_signature: false,
};

/// Amazon Linux.
pub(super) const AMAZON: Distribution = distribution(
    "amazon",
    "https://cdn.amazonlinux.com",
    &AMAZON_LAYOUT,
    &[release("2", &AMAZON2), release("2023", &AMAZON2023)],
);

/// Image, configuration, symbols and modules are in one package: `boot/vmlinuz-R`, or `usr/lib/modules/R`
/// since Leap 15.4.
const OPENSUSE_IMAGES: [ImagePackage; 9] = [
    image("kernel-default", GENERIC),
    image("kernel-azure", "azure"),
    image("kernel-rt", "rt"),
    image("kernel-64kb", "64kb"),
    image("kernel-longterm", "longterm"),
    image("kernel-kvmsmall", "kvmsmall"),
    image("kernel-debug", "debug"),
    image("kernel-vanilla", "vanilla"),
    image("kernel-lpae", "lpae"),
];

const OPENSUSE_LAYOUT: RpmLayout = RpmLayout {
    images: &OPENSUSE_IMAGES,
    modules: &[],
    extra_modules: &["-extra", "-optional"],
    release_rule: ReleaseRule::Suse,
    additional_suites: &[],
    other_mirrors: &[],
    debug_rules: &[
        DebugRule { part: "tumbleweed/", replacement: "debug/tumbleweed/" },
        DebugRule { part: "distribution/", replacement: "debug/distribution/" },
        DebugRule { part: "update/", replacement: "debug/update/" },
    ],
    keys: &[
        "opensuse/RPM-GPG-KEY-openSUSE",
        "opensuse/RPM-GPG-KEY-openSUSE-2022",
        "opensuse/RPM-GPG-KEY-openSUSE-Tumbleweed",
        "suse/RPM-GPG-KEY-SuSE-SLE-Main-2023",
    ],
    requires_signature: true,
};

const LEAP15_6: [Suite; 3] =
    [suite("distribution/leap/15.6/repo/oss"), suite("update/leap/15.6/sle"), suite("update/leap/15.6/oss")];
const LEAP16_0: [Suite; 1] = [suite("distribution/leap/16.0/repo/oss")];
const TUMBLEWEED: [Suite; 1] = [suite("$ports/tumbleweed/repo/oss")];

/// openSUSE.
pub(super) const OPENSUSE: Distribution = distribution(
    "opensuse",
    "https://download.opensuse.org",
    &OPENSUSE_LAYOUT,
    &[release("15.6", &LEAP15_6), release("16.0", &LEAP16_0), release("tumbleweed", &TUMBLEWEED)],
);

/// Image, configuration, symbols and most modules are in one package: `boot/vmlinuz-R`.
const AZURE_LINUX_LAYOUT: RpmLayout = RpmLayout {
    images: &[
        image("kernel", GENERIC),
        image("kernel-hwe", "hwe"),
        image("kernel-64k", "64k"),
        image("kernel-azure", "azure"),
        image("kernel-rt", "rt"),
        image("kernel-mshv", "mshv"),
        image("kernel-uvm", "uvm"),
    ],
    modules: &[],
    extra_modules: &["-drivers-accessibility", "-drivers-gpu", "-drivers-sound"],
    release_rule: ReleaseRule::Plain,
    additional_suites: &[],
    other_mirrors: &[],
    debug_rules: &[DebugRule { part: "base/$basearch", replacement: "base/debuginfo/$basearch" }],
    keys: &["MICROSOFT-RPM-GPG-KEY", "azure-linux/MICROSOFT-RPM-GPG-KEY"],
    requires_signature: true,
};

const AZURE_LINUX3: [Suite; 1] = [suite("3.0/prod/base/$basearch")];
const MARINER2: [Suite; 1] = [suite("2.0/prod/base/$basearch")];

/// Azure Linux.
pub(super) const AZURE_LINUX: Distribution = distribution(
    "azurelinux",
    "https://packages.microsoft.com/azurelinux",
    &AZURE_LINUX_LAYOUT,
    &[release("3", &AZURE_LINUX3)],
);

/// CBL-Mariner, the name of Azure Linux before release 3.
pub(super) const MARINER: Distribution = distribution(
    "mariner",
    "https://packages.microsoft.com/cbl-mariner",
    &AZURE_LINUX_LAYOUT,
    &[release("2", &MARINER2)],
);

/// Oracle's own kernel is `kernel-uek`, or `kernel-uek-core` since its release 7. The other one is that of
/// RHEL.
const ORACLE_IMAGES: [ImagePackage; 6] = [
    image("kernel-core", GENERIC),
    image("kernel-debug-core", "debug"),
    image("kernel-uek-core", "uek"),
    image("kernel-uek", "uek"),
    image("kernel-uek64k-core", "uek64k"),
    image("kernel-uek-debug-core", "uek-debug"),
];

/// No repository has the packages with debug information.
const ORACLE_LAYOUT: RpmLayout = RpmLayout {
    images: &ORACLE_IMAGES,
    extra_modules: &["-modules-extra", "-modules-extra-netfilter"],
    debug_rules: &[],
    ..enterprise_layout(&[
        "RPM-GPG-KEY-oracle",
        "oraclelinux/RPM-GPG-KEY-oracle-ol8",
        "oraclelinux/RPM-GPG-KEY-oracle-ol9",
        "oraclelinux/RPM-GPG-KEY-oracle-ol10",
    ])
};

const ORACLE8: [Suite; 3] =
    [suite("OL8/baseos/latest/$basearch"), suite("OL8/UEKR7/$basearch"), suite("OL8/UEKR6/$basearch")];
const ORACLE9: [Suite; 3] =
    [suite("OL9/baseos/latest/$basearch"), suite("OL9/UEKR8/$basearch"), suite("OL9/UEKR7/$basearch")];
const ORACLE10: [Suite; 2] = [suite("OL10/baseos/latest/$basearch"), suite("OL10/UEKR8/$basearch")];

/// Oracle Linux.
pub(super) const ORACLE: Distribution = distribution(
    "oracle",
    "https://yum.oracle.com/repo/OracleLinux",
    &ORACLE_LAYOUT,
    &[release("8", &ORACLE8), release("9", &ORACLE9), release("10", &ORACLE10)],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Address;

    const ALL: [&Distribution; 9] =
        [&ROCKY, &ALMA, &CENTOS_STREAM, &FEDORA, &AMAZON, &OPENSUSE, &AZURE_LINUX, &MARINER, &ORACLE];

    fn layout(distribution: &Distribution) -> &'static RpmLayout {
        match distribution.format {
            IndexFormat::RpmMd(layout) => layout,
            _ => panic!("{} is no rpm distribution", distribution.name),
        }
    }

    #[test]
    fn the_table_is_consistent() {
        for distribution in ALL {
            let layout = layout(distribution);
            let mirrors = layout.other_mirrors.iter().map(|mirror| mirror.address);
            for address in mirrors.chain(distribution.default_mirror) {
                assert!(address.starts_with("https://") && address.parse::<Address>().is_ok(), "{address}");
            }
            let suites: Vec<_> = distribution.releases.iter().flat_map(|release| release.suites).collect();
            for name in layout.additional_suites {
                assert!(suites.iter().any(|suite| suite.name == *name), "{name}");
            }
            for suite in suites {
                let has_debug = layout.debug_path(suite.name).is_some_and(|path| path != suite.name);
                assert_eq!(has_debug, distribution.name != "oracle", "{}", suite.name);
            }
        }
    }

    #[test]
    fn repositories_have_their_documented_addresses() {
        let debug = |distribution: &Distribution, suite: &str| layout(distribution).debug_path(suite);
        assert_eq!(debug(&ROCKY, EL9[0].name).as_deref(), Some("9/BaseOS/$basearch/debug/tree"));
        assert_eq!(debug(&ALMA, EL9[0].name).as_deref(), Some("9/BaseOS/debug/$basearch"));
        assert_eq!(
            debug(&FEDORA, FEDORA43[1].name).as_deref(),
            Some("updates/43/Everything/$basearch/debug")
        );
        assert_eq!(debug(&OPENSUSE, TUMBLEWEED[0].name).as_deref(), Some("$ports/debug/tumbleweed/repo/oss"));
        assert_eq!(
            debug(&AMAZON, AMAZON2[0].name).as_deref(),
            Some("2/extras/kernel-5.10/latest/debuginfo/$basearch/mirror.list")
        );
        let other = |release, architecture| layout(&FEDORA).other_mirror(release, architecture);
        assert_eq!(other("43", "x86_64"), None);
        assert_eq!(other("43", "s390x"), Some("https://dl.fedoraproject.org/pub/fedora-secondary"));
        assert_eq!(
            other("41", "aarch64"),
            Some("https://archives.fedoraproject.org/pub/archive/fedora/linux")
        );
    }
}
