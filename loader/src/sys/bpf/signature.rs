//! Signatures of programs, and the keyrings whose keys verify them.

use core::{fmt, str::FromStr};
use thiserror::Error;

/// The signature of a program, which the kernel verifies before the verifier reads the program (Linux 6.18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct ProgSignature<'a> {
    /// A detached PKCS#7 (CMS) message in DER over the instructions as they are passed to the kernel. At most
    /// 8 KiB on most architectures.
    pub pkcs7: &'a [u8],
    /// The keyring with the certificate of the key.
    pub keyring: Keyring,
}

/// A keyring of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the keyrings that `keyring_id` of `BPF_PROG_LOAD` selects")]
pub enum Keyring {
    /// `.builtin_trusted_keys`: the certificates that are built into the kernel.
    Builtin,
    /// `.secondary_trusted_keys`: also certificates that the administrator added, signed by a key in one of
    /// the two keyrings.
    Secondary,
    /// `.platform`: the certificates of the firmware.
    Platform,
    /// The session keyring of the process (`@s` of keyctl).
    Session,
    /// The keyring of the user (`@u` of keyctl).
    User,
    /// A keyring by its serial number, as `keyctl show` prints it: 3 or larger.
    Serial(i32),
}

/// A text that names no [`Keyring`].
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[error(
    "unknown keyring `{}`, expected `session`, `user`, `builtin`, `secondary`, `platform` or a serial number of at least {}",
    .0.escape_debug(), Keyring::MIN_SERIAL
)]
pub struct UnknownKeyring(pub String);

core_relo::debug_as_message!(UnknownKeyring);

impl Keyring {
    /// The smallest serial number. The kernel's numbers of its own keyrings are smaller.
    const MIN_SERIAL: i32 = 3;

    /// The keyrings with a name.
    const NAMED: [(Self, &'static str); 5] = [
        (Self::Session, "session"),
        (Self::User, "user"),
        (Self::Builtin, "builtin"),
        (Self::Secondary, "secondary"),
        (Self::Platform, "platform"),
    ];

    /// Returns the number that selects the keyring: `VERIFY_USE_*` of the kernel, `KEY_SPEC_*` of keyctl(2),
    /// or a serial number.
    pub const fn id(self) -> i32 {
        match self {
            Self::Builtin => 0,
            Self::Secondary => 1,
            Self::Platform => 2,
            Self::Session => -3,
            Self::User => -4,
            Self::Serial(serial) => serial,
        }
    }
}

/// Writes the name that [`FromStr`] reads, such as `session`.
impl fmt::Display for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, Self::NAMED.iter().find(|(keyring, _)| keyring == self)) {
            (_, Some((_, name))) => f.write_str(name),
            (_, None) => write!(f, "{}", self.id()),
        }
    }
}

impl FromStr for Keyring {
    type Err = UnknownKeyring;

    fn from_str(text: &str) -> Result<Self, UnknownKeyring> {
        if let Some((keyring, _)) = Self::NAMED.iter().find(|(_, name)| *name == text) {
            return Ok(*keyring);
        }
        let serial = text.parse().ok().filter(|serial| *serial >= Self::MIN_SERIAL);
        serial.map(Self::Serial).ok_or_else(|| UnknownKeyring(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyring_is_read_as_it_is_written() {
        for (keyring, name) in Keyring::NAMED.into_iter().chain([(Keyring::Serial(77), "77")]) {
            assert_eq!((name.parse(), keyring.to_string().as_str()), (Ok(keyring), name));
        }
        // 0 to 2 select the kernel's own keyrings, and negative numbers special ones.
        for text in ["", "sessions", "2", "-3", "99999999999", "0x10"] {
            assert_eq!(text.parse::<Keyring>(), Err(UnknownKeyring(text.to_owned())));
        }
    }
}
