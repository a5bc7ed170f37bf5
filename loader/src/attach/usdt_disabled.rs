//! The stand-in for USDT in a build without the crate feature `usdt`.

/// The state that the USDT programs of one object share. No value exists in a build without the crate feature
/// `usdt`.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "it has no value")]
pub enum UsdtManager {}
