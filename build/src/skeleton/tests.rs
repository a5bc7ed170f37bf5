//! Skeletons of objects made byte by byte.
