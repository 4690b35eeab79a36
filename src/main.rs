//! umtop.

fn main() {}
