//! The archive of minimal BTF: a `tar.gz` with an index, the same bytes for the same kernels.

use super::kernels::{MinimalKernel, MinimalModule};
use core_relo_loader::target::archive::{ArchiveEntry, INDEX_NAME, index_text, module_file};
use flate2::{Compression, GzBuilder};
use std::{
    collections::HashMap,
    io::{self, Write},
};
use tar::{EntryType, Header};

/// The longest target of a link in the `ustar` format.
const LINK_BYTES: usize = 100;

/// Returns the bytes of an archive of the kernels. Equal BTF is stored once; its other names are hard links.
/// BTF with a name that is too long for the target of a link is stored under each name.
///
/// Kernels are sorted by name, so that similar BTF is adjacent, which compresses best. The modules of a
/// kernel follow the kernel.
pub(super) fn encode(kernels: &[MinimalKernel]) -> io::Result<Vec<u8>> {
    let mut sorted: Vec<_> = kernels.iter().map(|kernel| (kernel.identity.file_name(), kernel)).collect();
    sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut first_names: HashMap<(&[u8], &[MinimalModule]), &str> = HashMap::new();
    let mut entries = Vec::new();
    for (name, kernel) in &sorted {
        let content = *first_names.entry((&kernel.bytes, &kernel.modules)).or_insert(name);
        let modules = kernel.modules.iter().map(|module| module.name.clone());
        entries.push(ArchiveEntry::new(kernel.identity.clone(), content).with_modules(modules));
    }
    let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(gzip);
    append(&mut archive, INDEX_NAME, index_text(&entries).as_bytes())?;
    for ((name, kernel), entry) in sorted.iter().zip(&entries) {
        let is_first = entry.content == *name;
        let mut add = |name: &str, content: &str, bytes: &[u8]| match is_first || content.len() > LINK_BYTES {
            true => append(&mut archive, name, bytes),
            false => append_link(&mut archive, name, content),
        };
        add(name, &entry.content, &kernel.bytes)?;
        for module in &kernel.modules {
            add(&module_file(name, &module.name), &entry.module_member(&module.name), &module.bytes)?;
        }
    }
    archive.into_inner()?.finish()
}

fn append(archive: &mut tar::Builder<impl Write>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = new_header(name)?;
    header.set_size(u64::try_from(bytes.len()).map_err(io::Error::other)?);
    header.set_cksum();
    archive.append(&header, bytes)
}

fn append_link(archive: &mut tar::Builder<impl Write>, name: &str, target: &str) -> io::Result<()> {
    let mut header = new_header(name)?;
    header.set_entry_type(EntryType::Link);
    header.set_link_name(target)?;
    header.set_size(0);
    header.set_cksum();
    archive.append(&header, io::empty())
}

/// Returns a header without the time, so that equal kernels give equal archives. A name has at most 256
/// bytes.
fn new_header(name: &str) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    Ok(header)
}
