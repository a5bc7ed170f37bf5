//! Tests of whole programs.

mod asm;
mod budgets;
mod calls;
mod config;
mod guards;
mod loops;
mod runs;
mod transfer;
mod values;

use super::{Reach, Undecided};

const DEAD: Reach = Reach::Dead;
const REACHABLE: Reach = Reach::Reachable;
const IMPRECISE: Reach = Reach::Undecided(Undecided::Imprecision);
