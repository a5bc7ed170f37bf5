//! Mainline releases.

/// A mainline release.
#[derive(Clone, Copy)]
pub(super) struct Release {
    pub(super) major: u8,
    pub(super) minor: u8,
}

impl Release {
    pub(super) const fn is(self, major: u8, minor: u8) -> bool {
        self.major == major && self.minor == minor
    }

    pub(super) const fn is_since(self, major: u8, minor: u8) -> bool {
        self.major > major || (self.major == major && self.minor >= minor)
    }
}
