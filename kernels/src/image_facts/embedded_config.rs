//! The configuration that `CONFIG_IKCONFIG` embeds in a kernel, compressed with gzip (`kernel/configs.c`).

use crate::{
    compression::{budget::Budget, format::Compression, streams::Streams},
    limits::KERNEL_TEXT_BYTES,
};
use memchr::memmem;
use std::{io, io::Read as _, sync::Arc};

/// The mark before the compressed configuration, and the first bytes of the latter.
const START: &[u8] = b"IKCFG_ST\x1f\x8b\x08";
const START_MARK_BYTES: usize = 8;
const END: &[u8] = b"IKCFG_ED";

/// The error of an embedded configuration.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigError {
    #[error("no end mark {:?}", String::from_utf8_lossy(END))]
    Truncated,
    #[error("it unpacks to {KERNEL_TEXT_BYTES} bytes or more")]
    TooLong,
    #[error("it sets no option")]
    NoOption,
    #[error("gzip: {0}")]
    Gzip(#[from] io::Error),
}

/// Finds the configuration in bytes, and unpacks it. Only the first one counts.
pub(super) fn find(bytes: &[u8], budget: &Budget) -> Result<Option<Arc<str>>, ConfigError> {
    let Some(rest) = memmem::find(bytes, START).and_then(|at| bytes.get(at..)) else { return Ok(None) };
    let end = memmem::find(rest, END).ok_or(ConfigError::Truncated)?;
    let compressed = rest.get(START_MARK_BYTES..end).ok_or(ConfigError::Truncated)?;
    let streams = Streams::first(Compression::Gzip, compressed, budget.clone());
    let mut text = Vec::new();
    streams.take(KERNEL_TEXT_BYTES).read_to_end(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|len| len >= KERNEL_TEXT_BYTES) {
        return Err(ConfigError::TooLong);
    }
    let text = String::from_utf8_lossy(&text);
    if !sets_option(&text) {
        return Err(ConfigError::NoOption);
    }
    Ok(Some(text.into()))
}

/// Returns whether a text is that of a configuration. Without an option, every option would count as not set.
pub(super) fn sets_option(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("CONFIG_") && line.contains('='))
}
