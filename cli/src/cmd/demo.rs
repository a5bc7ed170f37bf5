//! `demo`
use crate::app::App;
use std::io;
pub(crate) fn run(_app: &mut App<'_>) -> io::Result<()> { Ok(()) }
