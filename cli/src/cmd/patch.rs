//! `patch`: the object with its instructions relocated.

use crate::{app::App, args};
use std::io;
pub(crate) fn run(_app: &mut App<'_>, _args: &args::Patch) -> io::Result<()> { Ok(()) }
