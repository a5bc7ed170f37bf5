//! What a parsed BTF gives back, in both byte orders.

mod elements;
mod split;
mod strings;
mod views;
