//! The stand-in for the state of USDT programs in a build without the crate feature `usdt`.

use super::loaded::Loaded;
use crate::attach::{AttachError, UsdtManager};

impl Loaded {
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as with the feature")]
    pub(super) fn usdt(&self) -> Result<Option<&UsdtManager>, AttachError> {
        Ok(None)
    }
}
