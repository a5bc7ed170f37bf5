//! `primary.xml`, the list of packages: the packages of kernels in it.

use super::{
    repomd::{check_root, push_text},
    xml::{Element, XmlError, XmlEvent, read_xml},
};
use crate::{
    fetch::{hash::is_hash, rpm_md_defect::RpmMdDefect},
    limits::{MAX_KERNEL_PACKAGES, MAX_XML_FIELD_BYTES},
};
use serde::{Deserialize, Serialize};
use std::io::BufRead;

/// The beginning of the names of packages with parts of a kernel.
const KERNEL: &str = "kernel";

/// Architectures of packages without an image.
const OTHER_ARCHITECTURES: [&str; 3] = ["noarch", "src", "nosrc"];

/// The end of the names that packages of kernels provide with the release as their version:
/// `kernel-uname-r = 5.14.0-427.el9.x86_64`.
const UNAME: &str = "uname-r";

/// The name that only packages with an image provide.
const IMAGE_UNAME: &str = "kernel-uname-r";

/// A package in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::fetch) struct ListedPackage {
    pub(super) name: String,
    pub(super) architecture: String,
    pub(super) epoch: String,
    pub(super) version: String,
    pub(super) release: String,
    /// The SHA-256 or SHA-512 in hexadecimal digits.
    pub(super) hash: String,
    hash_type: String,
    /// The size in bytes.
    pub(super) bytes: u64,
    /// The size of the files. A list without it leaves only the size of the package.
    pub(super) installed_bytes: Option<u64>,
    /// The path of the package, relative to the repository.
    pub(super) path: String,
    /// The address that replaces that of the repository.
    base: Option<String>,
    /// The release of the kernel, as `uname -r` prints it.
    pub(super) kernel_release: Option<String>,
}

impl ListedPackage {
    /// Returns the version with epoch and release: `5.14.0-427.el9`.
    pub(super) fn full_version(&self) -> String {
        let Self { epoch, version, release, .. } = self;
        match epoch.as_str() {
            "" | "0" => format!("{version}-{release}"),
            epoch => format!("{epoch}:{version}-{release}"),
        }
    }

    fn is_of_kernel(&self) -> bool {
        let has_base = self.base.as_ref().is_some_and(|base| !base.is_empty());
        if has_base && self.name.starts_with(KERNEL) {
            log::debug!("{}: is left out: it is on another host", self.path);
        }
        self.name.starts_with(KERNEL)
            && !has_base
            && !OTHER_ARCHITECTURES.contains(&self.architecture.as_str())
    }

    /// Sets the release of the kernel from what the package provides.
    fn add_provided(&mut self, entry: &Element<'_>) -> Result<(), RpmMdDefect> {
        let Some(name) = entry.attribute("name").filter(|name| name.ends_with(UNAME)) else {
            return Ok(());
        };
        if self.kernel_release.is_some() && name != IMAGE_UNAME {
            return Ok(());
        }
        let (version, release) = (checked(entry.attribute("ver"))?, checked(entry.attribute("rel"))?);
        self.kernel_release = match (version, release) {
            (Some(version), Some(release)) => Some(format!("{version}-{release}")),
            (version, _) => version,
        };
        Ok(())
    }
}

/// The element whose text is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Architecture,
    Hash,
}

/// The list while it is being read.
#[derive(Default)]
struct ListReader {
    packages: Vec<ListedPackage>,
    package: ListedPackage,
    field: Option<Field>,
    text: String,
    is_in_provides: bool,
}

/// Reads the packages of kernels in a list.
///
/// The root `metadata` has elements `package`, which have elements such as `name`, `version` and `location`,
/// and an element `format` with `rpm:provides`.
pub(in crate::fetch) fn read_packages(list: impl BufRead) -> Result<Vec<ListedPackage>, XmlError> {
    let mut reader = ListReader::default();
    read_xml(list, &mut |event| reader.visit(event))?;
    Ok(reader.packages)
}

impl ListReader {
    fn visit(&mut self, event: XmlEvent<'_>) -> Result<(), RpmMdDefect> {
        match event {
            XmlEvent::Start { depth: 1, element } => check_root(&element, "metadata")?,
            XmlEvent::Start { depth: 2, .. } => self.package = ListedPackage::default(),
            XmlEvent::Start { depth: 3, element } => self.begin_element(&element)?,
            XmlEvent::Start { depth: 4, element } => self.is_in_provides = element.name() == "provides",
            XmlEvent::Start { depth: 5, element }
                if self.is_in_provides && self.package.name.starts_with(KERNEL) =>
            {
                self.package.add_provided(&element)?;
            }
            XmlEvent::Text(part) if self.field.is_some() => push_text(&mut self.text, part)?,
            XmlEvent::End { depth: 2 } => self.end_package()?,
            XmlEvent::End { depth: 3 } => self.end_field(),
            XmlEvent::End { depth: 4 } => self.is_in_provides = false,
            _ => {}
        }
        Ok(())
    }

    /// Reads the attributes of an element of a package.
    fn begin_element(&mut self, element: &Element<'_>) -> Result<(), RpmMdDefect> {
        self.text.clear();
        let attribute = |name| checked(element.attribute(name));
        let package = &mut self.package;
        match element.name() {
            "name" => self.field = Some(Field::Name),
            "arch" => self.field = Some(Field::Architecture),
            "checksum" => {
                self.field = Some(Field::Hash);
                set(&mut package.hash_type, attribute("type")?);
            }
            "version" => {
                set(&mut package.epoch, attribute("epoch")?);
                set(&mut package.version, attribute("ver")?);
                set(&mut package.release, attribute("rel")?);
            }
            "size" => {
                let number = |name| element.attribute(name).and_then(|size| size.parse().ok());
                // Without a size, the first byte is one too many.
                package.bytes = number("package").unwrap_or(0);
                package.installed_bytes = number("installed");
            }
            "location" => {
                set(&mut package.path, attribute("href")?);
                package.base = attribute("xml:base")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn end_field(&mut self) {
        let text = self.text.trim();
        match self.field.take() {
            Some(Field::Name) => text.clone_into(&mut self.package.name),
            Some(Field::Architecture) => text.clone_into(&mut self.package.architecture),
            Some(Field::Hash) => self.package.hash = text.to_ascii_lowercase(),
            None => {}
        }
    }

    /// Keeps a package of a kernel.
    fn end_package(&mut self) -> Result<(), RpmMdDefect> {
        if !self.package.is_of_kernel() {
            return Ok(());
        }
        if !is_hash(&self.package.hash) {
            let (name, found) = (self.package.name.clone(), self.package.hash_type.clone());
            return Err(RpmMdDefect::HashType { name, found });
        }
        if self.packages.len() >= MAX_KERNEL_PACKAGES {
            return Err(RpmMdDefect::TooManyPackages { limit: MAX_KERNEL_PACKAGES });
        }
        self.packages.push(std::mem::take(&mut self.package));
        Ok(())
    }
}

fn set(field: &mut String, value: Option<String>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// Checks the length of a value.
fn checked(value: Option<String>) -> Result<Option<String>, RpmMdDefect> {
    match value.as_ref().is_some_and(|value| value.len() > MAX_XML_FIELD_BYTES) {
        true => {
            let problem = format!("a value of more than {MAX_XML_FIELD_BYTES} bytes");
            Err(RpmMdDefect::Xml { offset: 0, problem })
        }
        false => Ok(value),
    }
}

#[cfg(test)]
pub(in crate::fetch::rpm_md) mod tests {
    use super::*;

    /// Returns the element of a package, with what it provides.
    pub(crate) fn package_xml(name: &str, version: &str, release: &str, provides: &[(&str, &str)]) -> String {
        let hash = "a".repeat(64);
        let provides: String = provides
            .iter()
            .map(|(name, value)| {
                let (version, release) = value.split_once('-').unwrap_or((value, ""));
                format!("<rpm:entry name=\"{name}\" flags=\"EQ\" epoch=\"0\" ver=\"{version}\" rel=\"{release}\"/>")
            })
            .collect();
        format!(
            "<package type=\"rpm\">\n  <name>{name}</name>\n  <arch>x86_64</arch>\n\
             <version epoch=\"0\" ver=\"{version}\" rel=\"{release}\"/>\n\
             <checksum type=\"sha256\" pkgid=\"YES\">{hash}</checksum>\n\
             <summary>The Linux &amp; kernel</summary><description>a &lt;name&gt;</description>\
             <size package=\"1000\" installed=\"90000000\" archive=\"90000100\"/>\
             <location href=\"Packages/{name}-{version}-{release}.x86_64.rpm\"/>\
             <format><rpm:license>GPL</rpm:license><rpm:provides>\
             <rpm:entry name=\"ksym(printk)\" flags=\"EQ\" ver=\"0x1\"/>{provides}</rpm:provides>\
             <rpm:requires><rpm:entry name=\"{name}-other-uname-r\" flags=\"EQ\" ver=\"9\" rel=\"9\"/></rpm:requires>\
             <file>/etc/name</file></format>\n</package>\n"
        )
    }

    pub(crate) fn list_xml(packages: &[String]) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<metadata xmlns=\"http://linux.duke.edu/metadata/common\" \
             xmlns:rpm=\"http://linux.duke.edu/metadata/rpm\" packages=\"1\">{}</metadata>",
            packages.concat()
        )
    }

    fn read(packages: &[String]) -> Result<Vec<ListedPackage>, String> {
        read_packages(list_xml(packages).as_bytes()).map_err(|error| match error {
            XmlError::Stream(error) => error.to_string(),
            XmlError::Document(defect) => defect.to_string(),
        })
    }

    #[test]
    fn packages_of_kernels_have_their_fields_and_the_release_that_they_provide() {
        let provides = [
            ("kernel-core-uname-r", "5.14.0-427.el9.x86_64"),
            ("kernel-uname-r", "5.14.0-427.el9.x86_64+rt"),
            ("kernel-x-uname-r", "0-0"),
        ];
        let packages = [
            package_xml("bash", "5.1", "1", &[]),
            package_xml("kernel-core", "5.14.0", "427.el9", &provides),
            package_xml("kernel-doc", "5.14.0", "427.el9", &[]).replace("x86_64</arch>", "noarch</arch>"),
        ];
        let found = read(&packages).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let kernel = &found[0];
        assert_eq!(kernel.full_version(), "5.14.0-427.el9");
        assert_eq!(kernel.kernel_release.as_deref(), Some("5.14.0-427.el9.x86_64+rt"));
        assert_eq!((kernel.bytes, kernel.installed_bytes), (1000, Some(90_000_000)));
        assert_eq!(kernel.path, "Packages/kernel-core-5.14.0-427.el9.x86_64.rpm");
        let epoch = packages[1]
            .replace("epoch=\"0\" ver=\"5.14.0\" rel=\"427.el9\"", "epoch=\"3\" ver=\"1\" rel=\"2\"");
        assert_eq!(read(&[epoch]).unwrap()[0].full_version(), "3:1-2");
    }

    #[test]
    fn packages_without_a_strong_hash_are_errors() {
        let weak = package_xml("kernel-core", "5.14.0", "1", &[]);
        let weak = weak.replace("type=\"sha256\"", "type=\"sha\"").replace(&"a".repeat(64), &"a".repeat(40));
        let error = read(&[weak]).unwrap_err();
        assert_eq!(error, "`kernel-core` has a hash of the type `sha`, expected sha256 or sha512");
        // A package of something else does not matter.
        let other = package_xml("bash", "5", "1", &[]).replace(&"a".repeat(64), "");
        assert_eq!(read(&[other]), Ok(Vec::new()));
    }

    /// The list decides what is downloaded from where, and how much memory it takes.
    #[test]
    fn lists_are_bounded() {
        let elsewhere = package_xml("kernel-core", "5.14.0", "1", &[])
            .replace("<location ", "<location xml:base=\"http://elsewhere.example/\" ");
        assert_eq!(read(&[elsewhere]), Ok(Vec::new()));
        let package = package_xml("kernel-core", "5.14.0", "1", &[]);
        let long = package.replace("kernel-core", &format!("kernel-{}", "x".repeat(2000)));
        assert!(read(&[long]).unwrap_err().contains("of more than 1024 bytes"));
        let release = [("kernel-uname-r", &*"5".repeat(2000))];
        let long = package_xml("kernel-core", "5.14.0", "1", &release);
        assert!(read(&[long]).unwrap_err().contains("of more than 1024 bytes"));
        let many = vec![package; MAX_KERNEL_PACKAGES + 1];
        assert_eq!(read(&many).unwrap_err(), "has more than 16384 packages of kernels");
        let cut = list_xml(&[package_xml("kernel-core", "5.14.0", "1", &[])]);
        for end in [10, 150, 600, cut.len() - 3] {
            assert!(read_packages(&cut.as_bytes()[..end]).is_err(), "{end}");
        }
    }
}
