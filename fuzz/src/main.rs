//! Runs the fuzz targets.
fn main() {}
