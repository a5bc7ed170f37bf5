//! The rules of matching, values and patching, over types built for the purpose, in both byte orders.
#![expect(clippy::arithmetic_side_effects, reason = "sizes of small fixtures")]

mod ambiguity;
mod enums;
mod fields;
mod fixture;
mod insns;
mod shared;
mod types;
mod unvalidated;
