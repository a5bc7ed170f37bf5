//! The stand-in for the state of USDT programs in a build without the crate feature `usdt`.

use super::loaded::Loaded;
use crate::attach::{AttachError, UsdtManager, UsdtOwner};

impl UsdtOwner for Loaded {
    fn usdt(&self) -> Result<Option<&UsdtManager>, AttachError> {
        Ok(None)
    }
}
