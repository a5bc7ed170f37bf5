//! `inspect`
use crate::{app::App, args};
use std::io;
pub(crate) fn run(_app: &mut App<'_>, _args: &args::Inspect) -> io::Result<()> { Ok(()) }
