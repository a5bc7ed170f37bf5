//! What a parsed BTF gives back, in both byte orders.

mod split;
mod views;
