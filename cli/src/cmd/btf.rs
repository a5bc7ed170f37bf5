//! `btf dump`
use crate::{app::App, args};
use std::io;
pub(crate) fn dump(_app: &mut App<'_>, _args: &args::Dump) -> io::Result<()> { Ok(()) }
