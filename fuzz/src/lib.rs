//! The fuzz targets of Waterline, as a library.

pub mod entries;
