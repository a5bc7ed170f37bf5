//! Finds the BTF in a boot image: decompresses the payload with the system's tools, then reads `.BTF` or
//! scans.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use super::btf;
use crate::system::{Outcome, is_installed};

/// A compression format of kernels: its magic bytes and the tool that decompresses it.
struct Packing {
    magic: &'static [u8],
    tool: &'static [&'static str],
}

const PACKINGS: [Packing; 4] = [
    Packing { magic: b"\xfd7zXZ\0", tool: &["xz", "-dcq"] },
    Packing { magic: b"\x28\xb5\x2f\xfd", tool: &["zstd", "-dcq", "--memory=2048MB"] },
    Packing { magic: b"\x02\x21\x4c\x18", tool: &["lz4", "-dcq"] },
    Packing { magic: b"\x1f\x8b\x08", tool: &["gzip", "-dcq"] },
];

/// The maximum number of places in an image to unpack. Compressed data may contain magic bytes by chance.
const ATTEMPTS: usize = 40;
/// The minimum size of an unpacked kernel, in bytes.
const MIN_KERNEL_BYTES: usize = 4 << 20;

/// Returns the BTF of the kernel in a boot image.
pub fn vmlinux_btf(image: &[u8]) -> Outcome<Vec<u8>> {
    if let Some(found) = find_btf(image) {
        return Ok(found);
    }
    if let Some(payload) = bz_image_payload(image) {
        let kernel = unpack(payload).ok_or_else(|| unpack_failure(payload))?;
        return find_btf(&kernel).ok_or_else(|| "the kernel in the image has no BTF".into());
    }
    // Other architectures have the payload somewhere in the image.
    for packing in &PACKINGS {
        let starts = (0..image.len())
            .filter(|at| image.get(*at..).is_some_and(|rest| rest.starts_with(packing.magic)));
        for at in starts.take(ATTEMPTS) {
            let kernel = image.get(at..).and_then(unpack).filter(|kernel| kernel.len() >= MIN_KERNEL_BYTES);
            if let Some(found) = kernel.as_deref().and_then(find_btf) {
                return Ok(found);
            }
        }
    }
    let missing: Vec<_> =
        PACKINGS.iter().filter_map(|p| p.tool.first().copied()).filter(|tool| !is_installed(tool)).collect();
    if missing.is_empty() {
        return Err("no BTF found in the image".into());
    }
    Err(format!("no BTF found in the image; {} not installed", missing.join(", ")).into())
}

/// Returns the image that QEMU boots fastest, or at all. For x86, that is the kernel as ELF, which the guest
/// need not unpack. For arm64, it is the unpacked kernel of an EFI image, which QEMU before 8.0 does not
/// know. All other images stay as they are.
pub fn bootable(image: Vec<u8>) -> Outcome<Vec<u8>> {
    if let Some(payload) = zboot_payload(&image) {
        return unpack(payload).ok_or_else(|| unpack_failure(payload).into());
    }
    let Some(payload) = bz_image_payload(&image) else { return Ok(image) };
    let kernel = unpack(payload).ok_or_else(|| unpack_failure(payload))?;
    if kernel.starts_with(b"\x7fELF") {
        Ok(kernel)
    } else {
        Err("the kernel in the image is no ELF file".into())
    }
}

/// Returns the payload of an EFI image that unpacks itself (`zboot`).
fn zboot_payload(image: &[u8]) -> Option<&[u8]> {
    if !image.starts_with(b"MZ") || image.get(4..8)? != b"zimg" {
        return None;
    }
    let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let start = word(8)?;
    image.get(start..start.checked_add(word(12)?)?)
}

/// Decompresses the stream at the start of `data` and ignores the bytes after it.
pub fn unpack(data: &[u8]) -> Option<Vec<u8>> {
    let packing = PACKINGS.iter().find(|packing| data.starts_with(packing.magic))?;
    let (tool, args) = packing.tool.split_first()?;
    let mut child = Command::new(tool)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let mut stdout = child.stdout.take()?;
    let mut out = Vec::new();
    std::thread::scope(|scope| {
        // The tool stops reading at the end of the payload; the failed write after that is no error.
        scope.spawn(move || drop(stdin.write_all(data)));
        let _ = stdout.read_to_end(&mut out);
    });
    let _ = child.wait();
    if out.is_empty() { None } else { Some(out) }
}

fn find_btf(kernel: &[u8]) -> Option<Vec<u8>> {
    btf::elf_section(kernel, b".BTF").or_else(|| btf::scan(kernel)).map(<[u8]>::to_vec)
}

/// Returns the payload of an x86 bzImage, found through its setup header.
fn bz_image_payload(image: &[u8]) -> Option<&[u8]> {
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let setup_sectors = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (setup_sectors + 1) * 512 + word(0x248)?;
    image.get(start..start.checked_add(word(0x24c)?)?)
}

fn unpack_failure(payload: &[u8]) -> String {
    match PACKINGS.iter().find(|packing| payload.starts_with(packing.magic)) {
        Some(packing) => {
            format!("`{}` could not unpack the image (is it installed?)", packing.tool.join(" "))
        }
        None => "the image has an unknown compression".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_of_an_efi_image_is_where_the_header_says() {
        let mut image = b"MZ\0\0zimg".to_vec();
        image.extend([20u32, 3].iter().flat_map(|n| n.to_le_bytes()));
        image.extend(b"\0\0\0\0abcd");
        assert_eq!(zboot_payload(&image), Some(b"abc".as_slice()));
        assert_eq!(zboot_payload(b"MZ\0\0zimg"), None);
        let other = b"an image of another format".to_vec();
        assert_eq!(bootable(other.clone()).ok(), Some(other));
    }
}
