//! The screens besides Live. One file each.

pub mod compare;
pub mod faults;
pub mod insights;
pub mod machine;
pub mod memory;
