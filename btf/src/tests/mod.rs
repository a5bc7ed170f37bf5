//! Tests of parsed BTF, in both byte orders.

mod split;
mod strings;
mod validation;
mod views;
