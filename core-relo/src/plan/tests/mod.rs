//! Tests of matching, values and patching, on built types in both byte orders.
#![expect(clippy::arithmetic_side_effects, reason = "sizes of small fixtures")]

mod ambiguity;
mod enums;
mod fields;
mod fixture;
mod insns;
mod sharing;
mod types;
mod unvalidated;
