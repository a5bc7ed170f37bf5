//! The files of a page besides its kernels: document, style, scripts, and the module for WebAssembly.

use super::directory::{SiteDirectory, compress};
use crate::error::{BadInput, escape_path};
use core_relo_kernels::file;
use core_relo_report::HTML_STYLE;
use std::{
    env,
    path::{Path, PathBuf},
};

/// The name of the module in release archives.
const MODULE_FILE: &str = "core-relo-web.wasm";

/// The name of the module on a page.
const PACKED_MODULE: &str = "core-relo-web.wasm.gz";

/// The directories of the module, from that of the command: in an unpacked archive, and where the command is
/// installed in a directory `bin`.
const SHARES: [&str; 2] = ["share/core-relo", "../share/core-relo"];

/// The largest module, in bytes. The present one has about 2 MiB.
const MODULE_BYTES: u64 = 64 << 20;

/// The mark in the module, with its version behind.
const MODULE_MARK: &str = "core-relo-web ";

/// The files that are part of this command.
const FILES: [(&str, &str); 5] = [
    ("index.html", include_str!("../../../site/index.html")),
    ("report.css", HTML_STYLE),
    ("page.css", include_str!("../../../site/page.css")),
    ("page.js", include_str!("../../../site/page.js")),
    ("worker.js", include_str!("../../../site/worker.js")),
];

/// Returns the names of the files.
pub(super) fn names() -> Vec<&'static str> {
    FILES.iter().map(|(name, _)| *name).chain([PACKED_MODULE]).collect()
}

/// The module for WebAssembly, which judges objects.
pub(super) struct PageModule {
    bytes: Vec<u8>,
    /// The name and version.
    pub(super) version: String,
}

impl PageModule {
    /// Reads the given module, or the one of this installation.
    pub(super) fn find(given: Option<&Path>) -> Result<Self, BadInput> {
        let path = match given {
            Some(path) => path.to_path_buf(),
            None => installed().ok_or_else(|| {
                let [unpacked, installed] = SHARES;
                let what = format_args!(
                    "is neither beside this command nor in {unpacked} or {installed} from there"
                );
                let bad = BadInput::new(MODULE_FILE, what);
                bad.help(
                    "give --wasm FILE: release archives contain it, `cargo xtask site` builds it in a clone",
                )
            })?,
        };
        let bytes = file::read(&path, MODULE_BYTES)?;
        if !bytes.starts_with(b"\0asm") {
            return Err(BadInput::for_path(
                &path,
                "is no module for WebAssembly, expected core-relo-web.wasm",
            ));
        }
        let expected = format!("{MODULE_MARK}{}", env!("CARGO_PKG_VERSION"));
        if !contains(&bytes, expected.as_bytes()) {
            let what = format_args!("is of another version, expected `{expected}`");
            let bad = BadInput::new(escape_path(&path), what);
            return Err(bad.help("take command and module from the same release"));
        }
        Ok(Self { bytes: bytes.to_vec(), version: expected })
    }
}

/// Returns the path of the module of this installation.
fn installed() -> Option<PathBuf> {
    let command = env::current_exe().ok()?;
    let dir = command.parent()?;
    let places = SHARES.iter().map(|share| dir.join(share).join(MODULE_FILE));
    [dir.join(MODULE_FILE)].into_iter().chain(places).find(|path| path.is_file())
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Writes the files. Returns their size.
pub(super) fn write(directory: &mut SiteDirectory, module: &PageModule) -> Result<usize, BadInput> {
    let mut page_bytes = 0;
    for (name, text) in FILES {
        page_bytes += directory.write(name, text.as_bytes())?;
    }
    let packed = compress(&module.bytes).map_err(|e| BadInput::new(MODULE_FILE, e))?;
    Ok(page_bytes + directory.write(PACKED_MODULE, &packed)?)
}
