//! Page-aligned memory that is shared with the driver.
#![allow(unsafe_code)]

use std::io;
use std::ptr::NonNull;

/// An anonymous mapping, zeroed. It must outlive the tracker fd that was given its address.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory owned by this value; it is tied to no thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps at least `bytes`.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A forked child would get the pinned pages and leave this process with copies that the driver does not know.
        // SAFETY: the range was just mapped with this length.
        if unsafe { libc::madvise(base, bytes, libc::MADV_DONTFORK) } != 0 {
            let error = io::Error::last_os_error();
            // SAFETY: as above; nothing refers to it yet.
            unsafe { libc::munmap(base, bytes) };
            return Err(error);
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mmap gave a null page"))?;
        Ok(Self { base, bytes })
    }

    /// The address to tell the driver.
    pub fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Its first byte as a pointer to `T`, which must fit in it and need no more than page alignment.
    pub fn cast<T>(&self) -> *mut T {
        debug_assert!(size_of::<T>() <= self.bytes);
        self.base.as_ptr().cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and no pointer into it outlives the owner.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
