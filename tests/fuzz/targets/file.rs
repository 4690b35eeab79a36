//! A file in memory with given bytes.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// The file's path, the same every time in this process.
pub fn path() -> PathBuf {
    let folder = if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
    folder.join(format!("umtop-fuzz-{}", std::process::id()))
}

/// Writes it.
pub fn with(bytes: &[u8]) -> PathBuf {
    let path = path();
    File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("a file in memory can be written");
    path
}
