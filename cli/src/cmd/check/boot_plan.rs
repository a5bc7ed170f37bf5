//! The kernels of a check that boot: the images that the user names, or those of fetched kernels.

use super::boot::{BootSettings, name_of};
use crate::{args::relocate::CheckArgs, error::BadInput};
use core_relo_kernels::{KernelSelection, KernelSource, Limits};
use core_relo_vm::{Arch, KernelImage, VmError, executable::executable_arch};

/// The maximum number of kernels that a note names.
const NAMED_KERNELS: usize = 5;

/// The kernels of a check that boot.
#[derive(Debug)]
pub(super) struct BootPlan<'a> {
    /// The images that the user names.
    pub(super) images: KernelSelection,
    pub(super) settings: BootSettings<'a>,
    /// The architecture of the fetched kernels that boot: that of the guest's executable. `None` if only
    /// `images` boot.
    fetched_arch: Option<Arch>,
}

/// The kernels to judge, each with the settings of its guest if it boots.
pub(super) struct BootChoice<'s> {
    pub(super) kernels: Vec<(&'s KernelSource, Option<&'s BootSettings<'s>>)>,
    /// The kernels that do not boot although images of fetched kernels boot, with the reasons.
    not_booted: Vec<String>,
}

impl<'a> BootPlan<'a> {
    /// Creates the plan of a check. Returns `None` if no kernel boots.
    pub(super) fn new(args: &'a CheckArgs, settings: BootSettings<'a>) -> Result<Option<Self>, BadInput> {
        let Some(paths) = &args.boot else { return Ok(None) };
        let fetched_arch = match paths.is_empty() {
            false => None,
            true if args.kernels.names_fetched() => Some(guest_arch(&settings)?),
            true => {
                let bad = BadInput::new("--boot", "no image is given");
                return Err(bad.help("expected --boot VMLINUZ..., or kernels with --kernels SPEC"));
            }
        };
        let images = KernelSelection::for_boot(paths, Vec::new(), Limits::new(args.kernels.max_bytes));
        Ok(Some(Self { images, settings, fetched_arch }))
    }

    /// Decides which of the kernels to judge boot.
    pub(super) fn choose<'s>(
        plan: Option<&'s Self>,
        sources: impl Iterator<Item = &'s KernelSource>,
    ) -> BootChoice<'s> {
        let fetched = plan.and_then(|plan| Some((plan, plan.fetched_arch?)));
        let mut not_booted = Vec::new();
        let mut settings_of = |source: &KernelSource| {
            let (plan, arch) = fetched?;
            match obstacle(source, arch) {
                None => Some(&plan.settings),
                Some(reason) => {
                    not_booted.push(format!("{} ({reason})", name_of(source)));
                    None
                }
            }
        };
        let kernels = sources.map(|source| (source, settings_of(source))).collect();
        BootChoice { kernels, not_booted }
    }
}

impl BootChoice<'_> {
    /// Returns the text about kernels that do not boot, and whether any kernel boots.
    pub(super) fn not_booted(&self) -> Option<(String, bool)> {
        let count = self.not_booted.len();
        let boot_count = self.kernels.len().checked_sub(count).filter(|_| count > 0)?;
        let mut names: Vec<_> = self.not_booted.iter().take(NAMED_KERNELS).cloned().collect();
        names.extend((count > NAMED_KERNELS).then(|| format!("and {} more", count - NAMED_KERNELS)));
        let total = self.kernels.len();
        let text = format!("{boot_count} of {total} kernels boot; only judged: {}", names.join(", "));
        Some((text, boot_count > 0))
    }
}

/// Returns the architecture of the guest's executable.
fn guest_arch(settings: &BootSettings<'_>) -> Result<Arch, BadInput> {
    match &settings.guest.guest_binary {
        Some(path) => executable_arch(path).map_err(|error| match error {
            VmError::Executable { path, reason } | VmError::File { path, reason } => {
                BadInput::for_path(&path, reason)
            }
            error => BadInput::new("--guest-binary", error),
        }),
        None => Arch::host().ok_or_else(|| BadInput::new("--boot", "no guests for this architecture")),
    }
}

/// Returns why a kernel to judge does not boot. `arch` is the architecture of the guest's executable.
fn obstacle(source: &KernelSource, arch: Arch) -> Option<String> {
    let KernelSource::Fetched(kernel) = source else {
        return Some("not fetched, --boot VMLINUZ names an image".to_owned());
    };
    if !kernel.image.is_file() {
        return Some("fetched without an image".to_owned());
    }
    match KernelImage::open(&kernel.image) {
        Ok(image) if image.arch() == arch => None,
        Ok(image) => Some(format!("{}, --guest-binary names a build for it", image.arch())),
        Err(VmError::NotBootable { reason, .. }) => Some(format!("not bootable: {reason}")),
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use core_relo_kernels::FetchedKernel;
    use std::{fs, path::Path};

    fn fetched(dir: &Path, name: &str, image: &[u8]) -> KernelSource {
        let path = dir.join(name);
        fs::write(&path, image).unwrap();
        let name = format!("debian:12/{name}");
        KernelSource::Fetched(FetchedKernel {
            name,
            btf: dir.join("btf"),
            modules: dir.join("m"),
            image: path,
            architecture: "x86_64".to_owned(),
            series: "debian:12 x86_64".to_owned(),
            distribution: None,
        })
    }

    #[test]
    fn kernels_boot_whose_image_fits_the_guest() {
        let dir = tempfile::tempdir().unwrap();
        let mut bzimage = vec![0; 0x206];
        bzimage.splice(0x202..0x206, *b"HdrS");
        let x86 = fetched(dir.path(), "6.1", &bzimage);
        assert_eq!(obstacle(&x86, Arch::X86_64), None);
        let reason = obstacle(&x86, Arch::Aarch64).unwrap();
        assert_eq!(reason, "x86-64, --guest-binary names a build for it");
        let unknown = fetched(dir.path(), "5.10", b"zImage");
        assert_eq!(obstacle(&unknown, Arch::X86_64).unwrap(), "not bootable: no known format");
        fs::remove_file(dir.path().join("6.1")).unwrap();
        assert_eq!(obstacle(&x86, Arch::X86_64).unwrap(), "fetched without an image");
        assert!(obstacle(&KernelSource::Running, Arch::X86_64).is_some());
    }
}
