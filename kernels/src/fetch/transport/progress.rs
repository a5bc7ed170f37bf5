//! What a caller hears of downloads.

/// A listener to downloads. Several threads call it.
pub trait Progress: Sync {
    /// A download begins.
    fn begin(&self, name: &str, bytes: u64);
    /// Some more bytes of a download have arrived.
    fn advance(&self, bytes: u64);
    /// A part of the work needs attention and goes on, such as a repository that a mirror lacks.
    fn note(&self, text: &str);
}

/// A listener that ignores everything.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a unit")]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _name: &str, _bytes: u64) {}
    fn advance(&self, _bytes: u64) {}
    fn note(&self, _text: &str) {}
}
