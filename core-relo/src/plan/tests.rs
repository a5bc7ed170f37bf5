//! Plans over types built for the purpose.
